"""I-S1: plain and padded typing above real kernels' sockets. The runs are those requested, and its checks can
fail.
"""

import json
import time
from dataclasses import replace

import numpy as np
import pytest

from ackclock.models import interactive2007 as closed
from ackclock.plot.worlds import Worlds, world_panels
from ackclock.reproduce import real
from ackclock.reproduce.interactive2007 import for_real, s1_padding_for_real
from ackclock.reproduce.interactive2007.for_real import (
    ALL,
    AS_IS,
    KERNELS,
    NEWRENO,
    PADDED,
    PLAIN,
    SACK,
    Found,
    Load,
    Measured,
)
from ackclock.reproduce.item import ITEMS, Setting
from ackclock.reproduce.saved import save

SHORT = Load((0.1,), 10, 6, (AS_IS,))


@pytest.mark.parametrize("p", [0.01, 0.05, 0.1, 0.2])
def test_the_closed_forms_are_those_of_the_register(p):
    assert for_real.expected(PLAIN, p, 1.0) == pytest.approx(
        float(closed.interactive_latency(p, 0.1, 1.0)), rel=1e-3
    )
    assert for_real.expected(PADDED, p, 1.0) == pytest.approx(
        float(closed.padded_latency(p, 0.1, 1.0)), rel=1e-3
    )
    # A run that ends counts fewer of the packets that take long.
    assert (
        for_real.expected(PLAIN, p, 1.0, 10)
        < for_real.expected(PLAIN, p, 1.0, 60)
        < for_real.expected(PLAIN, p, 1.0)
    )
    q = float(closed.padded_timeouts(p))
    assert for_real.expected_slow(PLAIN, p, 1.0) == pytest.approx(p, rel=1e-6)
    assert for_real.expected_slow(PADDED, p, 1.0) == pytest.approx(p * (q + (1 - q) * p), rel=1e-6)


def test_the_kernels_flows_type_when_their_twins_do():
    found = real.between_kernels([for_real.asked(SHORT, 0.1, AS_IS)])
    if isinstance(found, str):
        pytest.skip(found)
    run, flows = found[0], found[0]["flows"]
    if busy := s1_padding_for_real.unfit([run]):
        pytest.skip(busy)
    scenario = SHORT.scenario(0.1, ALL[AS_IS].twin, AS_IS).but({"trace": ["packets"]})
    twin = scenario.simulate()
    segments, simulated = twin.traces["segments"].to_pydict(), twin.flows.to_pydict()
    assert simulated["group"] == flows["group"]
    assert simulated["start"] == pytest.approx(flows["start"], abs=1e-9)
    typed, compared = [], 0
    for n, since in enumerate(flows["since"]):
        rows = zip(*(segments[key] for key in ("connection", "sent", "len", "time")), strict=True)
        sent = np.array(
            [at for connection, own, size, at in rows if connection == 2 * n and own and size == 500]
        )
        for at in since:
            compared += 1
            typed.append(np.abs(sent - at).min() if sent.size else np.inf)
    assert compared > 10
    # A packet that waits for the window is sent later than it is typed.
    assert np.median(typed) < 0.05
    for kind, least in ((PLAIN, 500), (PADDED, 540)):
        own = [n for n, group in enumerate(flows["group"]) if group == kind]
        assert all(
            flows["bytes_acked"][n] <= flows["bytes_delivered"][n] <= flows["bytes_written"][n] for n in own
        )
        assert sum(flows["bytes_written"][n] for n in own) >= least * sum(len(flows["since"][n]) for n in own)
        assert all(t >= for_real.RTT for n in own for t in flows["response_times"][n])
    assert run["stamps"]["read"] == run["stamps"]["agreeing"] > 10
    assert [(o["name"], o["same"], o["other"]) for o in run["options"]["client"]] == [("TCP_NODELAY", 20, 0)]


def test_a_twins_window_counts_packets_as_linux_does():
    for label, linux in ALL.items():
        scenario = replace(SHORT, seconds=30, losses=(1e-9,)).scenario(
            1e-9, for_real.in_packets(linux.twin), label, dummy=for_real.PACKET
        )
        flows = scenario.simulate().flows.to_pydict()
        packets = {
            app: sum(n for n, group in zip(flows["responses"], flows["group"], strict=True) if group == app)
            for app in (PLAIN, PADDED)
        }
        segments = {
            app: sum(
                n
                for n, group in zip(flows["data_segments_sent"], flows["group"], strict=True)
                if group == app
            )
            for app in packets
        }
        # Those that are under way at the end are sent and not acknowledged.
        assert packets[PLAIN] <= segments[PLAIN] <= packets[PLAIN] + 10, label
        assert 4 * packets[PADDED] <= segments[PADDED] <= 4 * (packets[PADDED] + 10), label


def test_what_is_asked_of_the_kernels():
    for label, linux in ALL.items():
        asked = for_real.asked(SHORT, 0.1, label)
        assert asked["parameters"] == linux.parameters
        assert asked["parameters"]["net.ipv4.tcp_no_metrics_save"] == "1"
        assert asked["options"] == {"TCP_NODELAY": 1}
        assert 'kind = "padded"' in asked["flows"]
        assert 'dummy_bytes = "20B"' in asked["flows"]
        assert "nagle = false" in asked["flows"]
    assert ALL[SACK].parameters["net.ipv4.tcp_rto_min_us"] == "900000"
    assert ALL[NEWRENO].parameters["net.ipv4.tcp_sack"] == "0"
    assert "net.ipv4.tcp_rto_min_us" not in ALL[AS_IS].parameters


def test_without_the_right_it_is_skipped_and_neither_passed_nor_failed(monkeypatch, tmp_path):
    monkeypatch.setattr(for_real, "side_by_side", lambda sets, **_: ["a right is missing"] * len(sets))
    item = ITEMS["I-S1"]
    outcome = item.function(Setting())
    assert (outcome.skipped, outcome.checks, outcome.figures) == ("a right is missing", [], {})
    kept = save(item, outcome, Setting(), time.monotonic(), tmp_path)
    assert kept["holds"] is None
    assert json.loads((tmp_path / "I-S1" / "summary.json").read_text())["skipped"] == "a right is missing"


def child_results(kernel: str, **changes) -> dict:
    """The results of a child process for a run, as far as the item reads them."""
    path = {"delivered": 100, "undelivered": 0, "late": 0, "mean_lateness": 1e-5, "max_lateness": 1e-4}
    flows = {
        "rto": [1.0, 1.0, 2.0, 1.0],
        "cwnd_segs": [10, 10, 2, 5],
        "group": [PLAIN, PLAIN, PADDED, PADDED],
    }
    counters = [{"name": "RetransSegs", "client": 9, "server": 0}]
    options = {"client": [{"name": "TCP_NODELAY", "value": 1, "same": 5, "other": 0}], "server": []}
    stamps = {"read": 100, "agreeing": 100, "lag": 0.01, "max_lag": 0.001}
    return {
        "kernel": kernel,
        "p": 0.1,
        "flows": flows,
        "path": path,
        "counters": counters,
        "options": options,
        "stamps": stamps,
        **changes,
    }


def measured(app: str, scale: float = 1.0, world: str = "kernel", slow: float | None = None) -> Measured:
    """A thousand packets whose mean is that of the formula."""
    mean = scale * for_real.expected(app, 0.1, 1.0, LOAD.seconds)
    late = slow if slow is not None else for_real.expected_slow(app, 0.1, 1.0)
    times = np.where(np.arange(1000) < 1000 * late, 2.0, 0.1)
    return Measured(world, SACK, app, 0.1, np.full(10, 100), np.full(10, 100 * mean), 5, 1100, 100, times)


LOAD = Load((0.1,), 10, 30, (SACK,))


def test_its_checks_can_fail():
    def short(plain=None, padded=None, twins=None, **changes):
        ours = [plain or measured(PLAIN), padded or measured(PADDED)]
        theirs = twins or [measured(app, world="simulator") for app in (PLAIN, PADDED)]
        found = s1_padding_for_real.checks(LOAD, Found(ours, [child_results(SACK, **changes)]), theirs)
        return [c.name.removeprefix(f"{SACK}") for c in found if not c.holds]

    assert short() == []
    # Padding that does not pay is above its formula and its twin as well.
    assert short(padded=measured(PADDED, 1.6)) == [
        ": mean response time, padded over plain, p = 10 %",
        ", padded: mean, kernel over twin",
        ", padded: mean, kernel over formula",
    ]
    assert short(padded=measured(PADDED, slow=0.08)) == [
        ": share waiting for a timeout, padded over plain, over the formula's, at worst"
    ]
    assert short(twins=[measured(PLAIN, 1.5, "simulator"), measured(PADDED, world="simulator")]) == [
        ", telnet: mean, kernel over twin"
    ]
    stamps = {"read": 100, "agreeing": 99, "lag": 0.01, "max_lag": 0.001}
    assert len(short(stamps=stamps)) == 1


def test_the_sentence_on_a_run():
    runs = [child_results(SACK)]
    real_ones, twins = (
        Found([measured(PLAIN), measured(PADDED)], runs),
        [measured(app, world="simulator") for app in (PLAIN, PADDED)],
    )
    assert real_ones.rto(SACK) == 1.0
    assert real_ones.windows(SACK, 0.1) == (3.5, 0.5)
    assert "RetransSegs 9" in s1_padding_for_real.counted(real_ones, SACK)
    assert "100 stamps" in s1_padding_for_real.punctuality(runs)
    assert "formula 225.0 ms" in s1_padding_for_real.described(LOAD, SACK, real_ones, twins)
    assert "at 10 %" in s1_padding_for_real.answer(LOAD, real_ones)
    assert s1_padding_for_real.figure(LOAD, real_ones, twins).axes


def test_a_mean_knows_how_sure_it_is():
    m = measured(PLAIN)
    assert m.half == pytest.approx(0.0, abs=1e-9), "flows that are all alike"
    apart = replace(m, sums=np.array([10.0, 30.0] * 5))
    assert apart.mean == pytest.approx(0.2)
    assert apart.half == pytest.approx(1.96 * np.sqrt(10 * 10.0**2) / 1000)


def test_a_machine_that_is_too_busy_checks_no_kernels():
    run = child_results(AS_IS)
    assert s1_padding_for_real.unfit([run]) is None
    assert "5 ms late" in (
        s1_padding_for_real.unfit([run, {**run, "path": {**run["path"], "mean_lateness": 5e-3}}]) or ""
    )
    assert "3 packets" in (
        s1_padding_for_real.unfit([{**run, "path": {**run["path"], "undelivered": 3}}]) or ""
    )


def test_the_quick_form_has_the_kernels_in_which_padding_is_sure_to_show():
    assert s1_padding_for_real.QUICK.kernels == tuple(KERNELS)
    assert set(s1_padding_for_real.FULL.kernels) == set(ALL)


def test_a_figure_of_values_far_apart_has_a_logarithmic_axis():
    near, far = (
        Worlds((x, y), (x, y, 0.1 * y), (x, y, 0.1 * y))
        for x, y in ((np.array([1.0, 2.0]), np.array([0.1, top])) for top in (0.2, 2.0))
    )
    words = {"title": "t", "subtitle": "s", "xlabel": "x", "ylabel": "y", "words": ("a", "b", "c")}
    assert [
        axes.get_yscale() for axes in world_panels({"one": {"x": near}, "two": {"x": near}}, **words).axes
    ] == ["linear"] * 2
    assert [
        axes.get_yscale() for axes in world_panels({"one": {"x": near}, "two": {"x": far}}, **words).axes
    ] == ["log"] * 2
