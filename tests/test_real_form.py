"""Real forms: declared beside their items, skipped where the system does not permit them, shown on pages."""

import re
from dataclasses import replace
from types import SimpleNamespace

import numpy as np
import pyarrow as pa
import pytest

import ackclock as ac
from ackclock._core import InputError, MissingRightError, VoidRunError
from ackclock.cli import reproduce
from ackclock.plot import drawn
from ackclock.reproduce import pages, real_flows, real_form, real_record
from ackclock.reproduce.item import ITEMS, Outcome, Setting, at_most
from ackclock.reproduce.jacobson88 import real_drops
from ackclock.reproduce.mathis97 import steady
from ackclock.reproduce.saved import save
from ackclock.reproduce.verdicts import entry, stale


def test_a_form_belongs_to_an_item_and_counts_nowhere():
    assert real_form.FORMS
    for id, form in real_form.FORMS.items():
        assert id in ITEMS
        assert form.paper == ITEMS[id].paper
        assert form.id not in ITEMS


def test_an_item_without_a_form_is_refused():
    with pytest.raises(InputError, match="I-E1 has no form on the kernel"):
        real_form.forms([ITEMS["I-E1"]])
    assert [f.id for f in real_form.forms([ITEMS["I-E1"], ITEMS["B-F2a"]])] == ["B-F2a real"]


@pytest.mark.parametrize("error", [MissingRightError("no namespaces"), VoidRunError("too busy")])
def test_a_form_that_cannot_run_is_skipped(error):
    def fails(setting):
        raise error

    outcome = real_form.guarded(fails)(Setting())
    assert str(error) in outcome.skipped
    assert not outcome.checks


def test_a_form_on_record_is_part_of_its_items_section(monkeypatch):
    outcome = Outcome([at_most("ratio", 0.9, 1.0, "at most")], notes=["kernel so and so"])
    made = entry(outcome) | {"date": "2026-01-02", "wall": 80, "full": False}
    monkeypatch.setattr(real_form, "recorded", lambda: {"B-F2a": made})
    text = pages.section(ITEMS["B-F2a"], entry(outcome))
    assert "**For real: holds.**" in text
    assert "| yes | ratio | at most 1 | 0.9 |" in text
    assert real_form.section("B-F2b") == ""


def test_the_record_of_forms_says_what_may_be_named_where_nothing_is(capsys):
    assert real_record.main([]) == real_record.main(["--full"]) == 2
    said = capsys.readouterr().err
    assert "name the items" in said and all(id in said for id in real_form.FORMS)


def test_a_skipped_form_says_so_once(capsys, monkeypatch, tmp_path):
    def fails(setting):
        raise MissingRightError("no namespaces")

    form = replace(real_form.FORMS["B-F2a"], function=real_form.guarded(fails))
    result = save(form, form.run(), Setting(), 0.0, tmp_path)
    reproduce._show(result, asked=False)
    assert capsys.readouterr().out.lower().count("skipped") == 1


NEW = {
    "M-F4": ["RFC 3465", "TCP_QUICKACK", "16"],
    "M-T2": ["10 ms", "linux-reno"],
    "M-X4": ["n = 1 to 4"],
    "M-F14": ["FACK-RH"],
    "M-F15": ["1.31"],
    "J-N6": ["TCP_QUICKACK"],
    "J-F9": ["4.3BSD", "TCP_QUICKACK"],
    "I-F6": ["RACK"],
    "I-F10": ["MTU"],
    "B-F3": ["1.2 times"],
    "B-F5a": ["no Tahoe"],
    "B-F6a": ["one source of 10 Mbit/s", "16 s ON"],
    "B-X7": ["tcp_syn_retries", "20 Mbit/s"],
}
"""Forms, and what their choices must say."""


@pytest.mark.parametrize("id", [id for id in real_form.FORMS if id in ITEMS])
def test_a_form_says_its_kernel_its_twin_and_how_long_it_takes(id):
    choices = real_form.FORMS[id].choices
    assert {"kernel", "engine", "SYNs"} & set(choices)
    assert {"twin"} <= set(choices)
    assert any(re.search(r"\d s\b", text) for text in choices.values())


@pytest.mark.parametrize(("id", "words"), NEW.items())
def test_a_form_says_what_it_cannot_do_and_how_it_is_scaled(id, words):
    said = " ".join(f"{what}: {chosen}" for what, chosen in real_form.FORMS[id].choices.items())
    assert [w for w in words if w not in said] == []


def test_the_forms_of_the_register_are_declared():
    wanted = "M-F4 M-T4b M-T4d M-T4g M-T4i M-T2 M-T3 M-X4 M-F14 M-F15 J-N6 J-F8 J-F9 J-F10 J-F11 J-F12"
    wanted += " I-F6 I-F9a I-F9b I-F10 I-F12a I-F12b B-F2a B-F2b B-F2c B-F3 B-F4 B-F5a B-F5b B-F6a B-F6b"
    wanted += " B-F9a B-F12a B-F12b B-F12c B-X7"
    assert not set(wanted.split()) - set(real_form.FORMS)


def test_a_figure_on_record_is_the_one_that_is_shown():
    for id, made in real_form.recorded().items():
        for name, digest in made["figures"].items():
            file = pages.IMAGES / real_form.image(id, name)
            assert drawn.digest_of_image(file) == digest, file.name


def test_a_form_that_falls_short_says_why():
    wanting = [id for id, e in real_form.recorded().items() if e["verdict"] != "holds" and not e["reason"]]
    assert not wanting, f"run `python -m ackclock.reproduce.real_record because {wanting[0]} ...`"
    assert not [id for id, e in real_form.recorded().items() if stale(e)]


def test_a_reason_is_recorded_for_a_form_that_falls_short_alone(monkeypatch, tmp_path, capsys):
    short = entry(Outcome([at_most("ratio", 1.1, 1.0, "at most")]))
    fine = entry(Outcome([at_most("ratio", 0.9, 1.0, "at most")]))
    made = {
        id: e | {"date": "2026-01-02", "wall": 80, "full": False}
        for id, e in (("B-F2a", short), ("B-F2b", fine))
    }
    monkeypatch.setattr(real_record, "recorded", lambda: made)
    kept = {}
    monkeypatch.setattr(real_record.record, "add", lambda name, entries: kept.update(entries))
    monkeypatch.setattr(real_record, "write", lambda items: None)
    assert real_record.main(["because", "B-F2a", "Too short."]) == 0
    assert (kept["B-F2a"]["reason"], kept["B-F2a"]["explains"]) == ("Too short.", {"ratio": "1.1"})
    for names in (["because", "B-F2b", "x"], ["because", "B-F2a", " "], ["because", "B-F2a"]):
        assert real_record.main(names) == 2
    assert "no form that falls short" in capsys.readouterr().err


def test_what_a_busy_machine_spoiled_is_run_again_twice():
    tried = []

    def spoiled(times):
        tried.append(times)
        if len(tried) < times:
            raise VoidRunError("too busy")
        return "done"

    assert real_form.again(lambda: spoiled(3)) == "done"
    tried.clear()
    with pytest.raises(VoidRunError):
        real_form.again(lambda: spoiled(4))


def test_scenarios_side_by_side_keep_their_order():
    class Scenario:
        def __init__(self, name):
            self.name = name

        def testbed(self):
            return f"{self.name} on the kernel"

        def simulate(self, workers):
            return f"{self.name} twin"

    setting = Setting()
    done = []
    setting.progress = lambda share, label: done.append(share)
    found = real_form.together({n: Scenario(n) for n in "abc"}, setting, "x", at_once=2)
    assert {k: (p.kernel, p.twin) for k, p in found.items()} == {
        n: (f"{n} on the kernel", f"{n} twin") for n in "abc"
    }
    assert done == sorted(done) and done[-1] == 1.0


def test_flows_over_an_emulated_path_that_was_late_are_void(monkeypatch):
    path = {"late": 11, "delivered": 1000, "max_lateness": 0.002}
    monkeypatch.setattr(real_flows, "side_by_side", lambda sets, **more: [[{"path": path}] for _ in sets])
    scenario = ac.Scenario.of(
        ac.Single(ac.Link("1Mbit/s"), rtt="20ms"), ac.Bulk(), {"tcp": "sack"}, duration="1s"
    )
    wanted = {"x": real_flows.Wanted(scenario)}
    found, void = real_flows.run(wanted, lambda part: None)
    assert found == {} and "1.1 % of its packets were more than 1 ms late" in void
    path["late"] = 10
    assert real_flows.run(wanted, lambda part: None) == ({"x": {"path": path}}, "")
    path["max_lateness"] = 0.051
    assert "51 ms" in real_flows.run(wanted, lambda part: None)[1]
    with pytest.raises(VoidRunError, match="51 ms"):
        real_flows.beside(wanted, Setting(), "x")


def test_missing_rights_are_told_by_flows_too(monkeypatch):
    monkeypatch.setattr(real_flows, "side_by_side", lambda sets, **more: ["no namespaces"])
    scenario = ac.Scenario.of(
        ac.Single(ac.Link("1Mbit/s"), rtt="20ms"), ac.Bulk(), {"tcp": "sack"}, duration="1s"
    )
    with pytest.raises(MissingRightError, match="no namespaces"):
        real_flows.run({"x": real_flows.Wanted(scenario)}, lambda part: None)


def test_signals_of_the_kernel_are_recoveries_and_timeouts():
    flow = {"run": "tcp", "group": "g", "protocol": "tcp", "fast_recoveries": 3, "timeouts": 2}
    flow |= {"dropped_packets": 9, "bytes_acked": 9480, "rtt_mean": 0.1}
    link = {"run": "tcp", "name": "L", "observed": 10.0, "packets": 20, "bytes": 20_000, "dropped_queue": 9}
    link |= {"queue_mean_delay": 0.01, "utilisation": 0.5}
    run = SimpleNamespace(flows=pa.Table.from_pylist([flow]), links=pa.Table.from_pylist([link]))
    (c,) = steady.of_kernel(run, 948).of("tcp")
    assert (c.segments, c.ca, c.timeouts, c.other) == (10, 3, 2, 4)
    unknown = SimpleNamespace(flows=pa.Table.from_pylist([flow | {"fast_recoveries": None}]), links=run.links)
    with pytest.raises(MissingRightError, match="needs root"):
        steady.of_kernel(unknown, 948)


def test_peaks_of_a_sawtooth_are_found():
    cycle = np.arange(8.0, 16.0, 0.1)
    assert np.allclose(real_drops.peaks(np.tile(cycle, 5)), cycle[-1])
