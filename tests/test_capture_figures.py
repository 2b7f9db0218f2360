"""Figures and xplot files of captures and of simulated runs, and the table of packets that they are
made of.
"""

from __future__ import annotations

import re
from dataclasses import replace
from pathlib import Path

import numpy as np
import pyarrow.compute as pc
import pyarrow.parquet as pq
import pytest

import ackclock as ac
from ackclock.plot import details, flight, round_trips, xplot
from ackclock.plot.thin import outline, visible
from ackclock.reproduce.mathis97 import captured
from ackclock.results.trace import Trace, Wait

FIXTURES = Path(__file__).parents[1] / "crates/ackclock-capture/tests/fixtures"
OUTAGE = FIXTURES / "kernel-bulk-and-an-outage.pcap.gz"
HEAVY = FIXTURES / "kernel-heavy-loss.pcap.gz"


@pytest.fixture(scope="module")
def outage():
    return ac.read_capture(OUTAGE, packets=True)


@pytest.fixture(scope="module")
def heavy():
    return ac.read_capture(HEAVY, packets=True)


@pytest.fixture(scope="module")
def run():
    link = ac.Link(
        "10Mbit/s", queue=ac.queue.DropTail(limit="60packets"), faults=ac.fault.Loss(p=0.02, of="data")
    )
    stack = ac.Stack("newreno+no-sack", mss=f"{captured.MSS}B")
    what = {captured.STACK: stack}
    return ac.Scenario.of(
        ac.Single(link, rtt="60ms"), ac.Fixed(size="1MB"), what, duration="60s", trace=["packets", "samples"]
    ).simulate()


def labels(figure):
    return [text.get_text() for legend in figure.legends for text in legend.get_texts()]


def test_packets_are_listed_only_when_asked_for(outage):
    assert ac.read_capture(OUTAGE).packets.num_rows == 0
    assert outage.packets.num_rows == outage.report["segments"]
    assert outage.packets.schema.field("window").metadata[b"unit"] == b"B"
    assert ac.read_capture(OUTAGE, flow=":81", packets=True).packets.num_rows == 0


def test_a_trace_holds_what_the_report_counts(heavy):
    t = heavy.plot.trace(0)
    d = heavy.connections[0]["directions"][0]
    assert int(t.marked.sum()) == d["retransmitted_packets"]
    assert int((~t.needed).sum()) == d["unneeded_packets"]
    assert int((t.offset + t.size).max()) == d["unique_bytes"] == t.acked[-1]
    time, outstanding = t.flight()
    # A SYN counts one where the report counts sequence numbers.
    assert 0 <= d["max_flight"] - outstanding.max() <= 1
    assert outstanding[-1] == 0
    assert (np.diff(time) >= 0).all()
    assert [w.round for w in t.waits] == [1]
    assert t.sack_at.size > 100
    assert (t.sack_to > t.sack_from).all()


def test_a_capture_of_a_simulated_run_has_the_same_trace(run, tmp_path):
    rows = run.traces["segments"].filter(pc.equal(run.traces["segments"]["connection"], 0))
    path = tmp_path / "simulated.pcap"
    path.write_bytes(captured.pcap(rows, captured.MSS))
    seen, known = ac.read_capture(path, packets=True).plot.trace(0), run.plot.trace(0)
    assert seen.time + seen.origin == pytest.approx(known.time, abs=1e-8)
    assert (seen.offset == known.offset).all()
    assert (seen.marked == known.marked).all()
    assert (seen.acked == known.acked).all()
    assert seen.flight()[1].tolist() == known.flight()[1].tolist()


def test_the_figures_of_both_worlds_have_the_same_parts(outage, run):
    for plots, own in ((outage.plot, "receiver's window"), (run.plot, "")):
        shown = labels(plots.sequence(details=True))
        assert any(x.startswith("data (") for x in shown)
        assert "acknowledged" in shown
        assert not own or any(x.startswith(own) for x in shown)
        assert any(x.startswith(("after a timeout (", "fast retransmit (")) for x in shown)
        assert any(x.startswith("RTT samples (") for x in labels(plots.rtt(timers=["eifel"])))
        assert any(x == "RTO of eifel" for x in labels(plots.rtt(timers=["eifel"])))
        assert "in flight" in labels(plots.flight())
    # The figure of many connections draws both too.
    assert (
        "connection 0"
        in outage.plot.sequence([0], details=False).axes[0].get_legend().get_texts()[0].get_text()
    )
    assert "waiting for a timer (3)" in labels(outage.plot.sequence())
    assert [t.get_text() for t in outage.plot.sequence().axes[0].texts if "round" in t.get_text()] == [
        "964 ms, round 3",
        "492 ms, round 2",
    ]


def test_a_figure_of_no_or_few_packets_is_a_figure():
    empty = Trace(
        np.empty(0), np.empty(0, np.int64), np.empty(0, np.int64), np.empty(0), np.empty(0, np.int64)
    )
    one = replace(
        empty,
        time=np.array([0.0]),
        offset=np.array([0]),
        size=np.array([10]),
        kind=np.array([""], object),
        marked=np.array([False]),
        needed=np.array([True]),
    )
    for t in (empty, one, replace(one, waits=(Wait(1.0, float("nan"), 0, 1), Wait(2.0, 1.0, 0, 2, True)))):
        details(t, title="few").canvas.draw()
        flight(t, title="few").canvas.draw()
        round_trips(np.empty(0), np.empty(0), {"none": np.empty(0)}, title="few", waits=t.waits).canvas.draw()


def test_thinning_keeps_what_a_figure_shows():
    x = np.linspace(0, 10, 200_000)
    y = np.sin(x)
    y[77_777] = 5.0
    line = outline(x, y)
    assert 77_777 in line
    assert line[0] == 0
    assert line[-1] == x.size - 1
    assert line.size < 10_000
    dots = visible(x, y, (0, 10, -1, 5), 500)
    cells = {(int(a), int(b)) for a, b in zip(x / 10 * 500, (y + 1) / 6 * 500, strict=True)}
    assert {(int(x[i] / 10 * 500), int((y[i] + 1) / 6 * 500)) for i in dots} == cells
    assert dots.size == len(cells)
    assert (np.diff(dots) > 0).all()


def test_wrong_numbers_are_one_sentence(outage):
    with pytest.raises(ac.InputError, match="connection 7 is not in the capture"):
        outage.plot.sequence(7)
    with pytest.raises(ac.InputError, match="packets=True"):
        ac.read_capture(OUTAGE).plot.flight()
    with pytest.raises(ac.PolicyError, match="nothing"):
        outage.plot.rtt(timers=["nothing"])


NUMBER = r"-?\d+(?:\.\d+)?"
COLOUR = "white|green|red|blue|yellow|purple|orange|magenta|pink"
POINT = re.compile(rf"(?:dot|diamond|[ud]arrow) {NUMBER} {NUMBER} (?:{COLOUR})")
LINE = re.compile(rf"line {NUMBER} {NUMBER} {NUMBER} {NUMBER} (?:{COLOUR})")
TEXT = re.compile(rf"[abr]text {NUMBER} {NUMBER} (?:{COLOUR})")


def check_xplot(text: str) -> dict[str, int]:
    """Every line is one that xplot knows; how often each command comes."""
    lines = text.splitlines()
    assert lines[0] == "timeval double"
    assert (lines[1], lines[3], lines[5], lines[-1]) == ("title", "xlabel", "ylabel", "go")
    found: dict[str, int] = {}
    rest = iter(lines[7:-1])
    for line in rest:
        assert POINT.fullmatch(line) or LINE.fullmatch(line) or TEXT.fullmatch(line), line
        if TEXT.fullmatch(line):
            assert next(rest).strip()
        found[line.split()[0]] = found.get(line.split()[0], 0) + 1
    return found


def test_what_if_is_drawn_where_it_was_requested(ackclock, tmp_path, outage):
    done = ackclock(
        "capture",
        OUTAGE,
        "--what-if",
        "eifel,as-run+none",
        "--plot",
        "what-if",
        "--out",
        tmp_path / "figures",
        "--json",
    )
    assert done.code == 0, done
    assert (tmp_path / "figures" / "what-if-0.png").exists()
    figure = ac.read_capture(OUTAGE, packets=True, what_if="eifel,as-run+none").plot.what_if()
    shown = [t.get_text() for t in figure.axes[0].get_yticklabels()]
    assert shown == ["as it ran", "eifel", "as-run+none"]
    waited = [w["waited"] for w in done.json["connections"][0]["directions"][0]["what_if"]]
    assert [bar.get_width() for bar in figure.axes[0].patches] == pytest.approx(waited)
    with pytest.raises(ac.InputError, match="read the capture with `what_if`"):
        outage.plot.what_if()


def test_xplot_files_are_what_xplot_reads(ackclock, tmp_path, heavy):
    done = ackclock("capture", HEAVY, "--xpl", tmp_path / "xpl")
    assert done.code == 0, done
    names = sorted(p.name for p in (tmp_path / "xpl").glob("*.xpl"))
    assert names == [f"{what}-0-client.xpl" for what in ("flight", "rtt", "sequence")]
    texts = {name: (tmp_path / "xpl" / name).read_text("ascii") for name in names}
    found = check_xplot(texts["sequence-0-client.xpl"])
    t = heavy.plot.trace(0)
    assert found["darrow"] == found["uarrow"] == t.time.size
    assert found["atext"] == t.marked.sum()
    assert (
        check_xplot(texts["rtt-0-client.xpl"])["dot"]
        == heavy.connections[0]["directions"][0]["rtt"]["samples"]
    )
    assert check_xplot(texts["flight-0-client.xpl"])["line"] > 100
    # Absolute times, as the axis says.
    assert f"darrow {t.origin + t.time[~t.marked][0]:.6f} 0 white" in texts["sequence-0-client.xpl"]
    assert "the capture's clock" in texts["sequence-0-client.xpl"]


def test_words_in_xplot_files_stay_on_their_line(outage):
    text = "\n".join(xplot.sequence(outage.plot.trace(0), "a\nline 0 0 1 1 red\x1b"))
    assert text.splitlines()[2] == "a line 0 0 1 1 red "


def test_the_command_draws_figures(ackclock, tmp_path):
    done = ackclock(
        "capture",
        OUTAGE,
        HEAVY,
        "--plot",
        "sequence",
        "--plot",
        "rtt",
        "--plot",
        "flight",
        "--timer",
        "eifel",
        "--out",
        tmp_path / "figures",
    )
    assert done.code == 0, done
    names = {p.name for p in (tmp_path / "figures").iterdir()}
    assert names == {
        f"{what}-{i}-0.{end}"
        for what in ("sequence", "rtt", "flight")
        for i in (1, 2)
        for end in ("png", "svg")
    } | {
        "summary.json",
        "ackclock.json",
    }
    assert (tmp_path / "figures" / "sequence-1-0.png").read_bytes().startswith(b"\x89PNG")
    again = ackclock("capture", OUTAGE, HEAVY, "--plot", "flight", "--out", tmp_path / "figures")
    assert again.code == 0, again


def test_packets_as_parquet(ackclock, tmp_path, heavy):
    done = ackclock("capture", HEAVY, "--parquet", tmp_path / "tables", "--packets")
    assert done.code == 0, done
    table = pq.read_table(tmp_path / "tables" / "packets.parquet")
    assert table.drop_columns(["file"]).to_pylist() == heavy.packets.to_pylist()
    assert ackclock("capture", HEAVY, "--parquet", tmp_path / "tables").code == 0
    assert not (tmp_path / "tables" / "packets.parquet").exists()


def test_wrong_input_is_one_sentence_and_exit_code_2(ackclock, tmp_path):
    taken = tmp_path / "taken.pcap"
    taken.write_bytes(OUTAGE.read_bytes())
    (tmp_path / "full").mkdir()
    (tmp_path / "full" / "notes.txt").write_text("mine")
    for arguments in (
        ["nowhere.pcap"],
        [tmp_path],
        [OUTAGE, "--flow", "9"],
        [OUTAGE, "--flow", "9", "--html", "page.html"],
        [OUTAGE, "--plot", "everything"],
        [OUTAGE, "--out", "figures"],
        [OUTAGE, "--packets"],
        [OUTAGE, "--timer", "eifel"],
        [OUTAGE, "--plot", "rtt", "--timer", "sundial"],
        [OUTAGE, "--plot", "rtt", "--out", tmp_path / "full"],
        [OUTAGE, "--plot", "rtt", "--out", taken],
        [OUTAGE, "--xpl", "/proc/nowhere"],
        [OUTAGE, "--html", tmp_path],
        [OUTAGE, "--html", taken],
        [OUTAGE, "--html", tmp_path / "no" / "page.html"],
        [OUTAGE, "--plot", "what-if"],
        [OUTAGE, "--json", "--csv"],
    ):
        done = ackclock("capture", *arguments)
        assert done.code == 2, (arguments, done)
        assert done.is_one_sentence(), (arguments, done)
    assert taken.read_bytes() == OUTAGE.read_bytes()
