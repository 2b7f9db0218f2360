"""Flows and links over time: the tables, what figures draw from them, and the command line."""

from __future__ import annotations

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pytest

import ackclock as ac
from ackclock.results import endless
from ackclock.results.over_time import Bins, FlowsOverTime, LinkOverTime, nice

SCENARIO = """
title = "Two of each"
duration = "12s"
series = "200ms"
mix = { cubic = 0.5, reno = 0.5 }
workload = { kind = "bulk", flows = FLOWS, stagger = "100ms" }
stacks = { cubic = "cubic", reno = "newreno" }
[path]
kind = "dumbbell"
rtt = "40ms"
bottleneck = { rate = "5Mbit/s", queue = { kind = "QUEUE", limit = "2bdp" } }
"""


def text(flows: int = 4, queue: str = "drop-tail") -> str:
    return SCENARIO.replace("FLOWS", str(flows)).replace("QUEUE", queue)


@pytest.fixture(scope="module")
def run() -> ac.Run:
    return ac.Scenario(text()).simulate()


@pytest.fixture(scope="module")
def many() -> ac.Run:
    return ac.Scenario(text(20, "red")).simulate()


def lines(axes) -> dict[str, tuple[np.ndarray, np.ndarray]]:
    """The lines of a panel by the beginning of their name."""
    return {
        line.get_label().split(" (")[0]: (np.asarray(line.get_xdata()), np.asarray(line.get_ydata()))
        for line in axes.get_lines()
    }


def made(
    shares: list[list[float]], starts: list[float], ends: list[float | None] | None = None
) -> FlowsOverTime:
    """Flows with those bytes in each second."""
    rows = [
        {
            "time": float(second + 1),
            "interval": 1.0,
            "flow": flow,
            "stack": "tcp",
            "group": "bulk",
            "protocol": "tcp",
            "bytes_arrived": int(1000 * share),
        }
        for second, each in enumerate(shares)
        for flow, share in enumerate(each)
        if second + 1 > starts[flow]
    ]
    flows = {
        "flow": list(range(len(starts))),
        "start": starts,
        "end": pa.array(ends or [None] * len(starts), pa.float64()),
        "protocol": ["tcp"] * len(starts),
    }
    return FlowsOverTime(pa.Table.from_pylist(rows), pa.table(flows))


def test_bins_are_whole_intervals_and_end_with_the_run():
    table = pa.table({"time": [0.2, 0.2, 0.4, 0.6, 0.8, 1.0, 1.1], "interval": [0.2] * 6 + [0.1]})
    bins = Bins.over(table, 0.4)
    assert bins.edges == pytest.approx([0, 0.4, 0.8, 1.1])
    assert bins.place(table).tolist() == [0, 0, 0, 1, 1, 2, 2]
    short = Bins.over(table.slice(0, 6), 0.35)
    assert short.edges == pytest.approx([0, 0.4, 0.8, 1.0]), "0.35 s is no multiple; 0.2 s is half a bin"
    assert Bins.over(table, 100.0).edges == pytest.approx([0, 1.1])
    with pytest.raises(ac.InputError, match="the width of bins is 0 s; give one above 0"):
        Bins.over(table, 0.0)
    with pytest.raises(ac.InputError, match="over time are empty"):
        Bins.over(table.slice(0, 0), None)


def test_nice_numbers():
    assert [nice(x) for x in (1.0, 0.3, 2.1, 0.05, 601.0)] == pytest.approx([1, 0.5, 5, 0.05, 1000])


def test_jains_index_is_that_of_the_definition():
    # (1 + 3)^2 / (2 (1 + 9)) = 0.8; (1 + 1 + 4)^2 / (3 * 18) = 2/3; one of two with everything: 1/2.
    found = made([[1, 3], [2, 2], [5, 0]], [0.0, 0.0])
    assert found.jain(1.0)[1] == pytest.approx([0.8, 1.0, 0.5])
    assert made([[1, 1, 4]], [0.0] * 3).jain(1.0)[1] == pytest.approx([2 / 3])
    # A flow that began or ended within a bin does not count in it, and one flow alone has no index.
    late = made([[1, 1], [1, 1], [1, 3]], [0.0, 1.5], [None, None])
    assert late.jain(1.0)[1] == pytest.approx([np.nan, np.nan, 0.8], nan_ok=True)


def test_convergence_is_the_delta_fair_time():
    # Shares within (1 - 0.1)/2 and (1 + 0.1)/2 are fair for two flows: 0.449 is not, 0.451 is.
    shares = [[0.9, 0.1], [0.7, 0.3], [0.551, 0.449], [0.549, 0.451], [0.9, 0.1]]
    (found,) = made(shares, [0.0, 0.0]).convergence(1.0)
    assert (found.begin, found.flows, found.after) == (0.0, 2, 4.0)
    assert made(shares, [0.0, 0.0]).convergence(1.0, delta=0.4)[0].after == 2.0
    assert made(shares[:3], [0.0, 0.0]).convergence(1.0)[0].after is None
    # Each time that a flow begins or ends it starts anew; alone, a flow is not compared with any.
    parts = made([[1, 0], [3, 1], [1, 1], [1, 1], [1, 0]], [0.0, 1.0], [None, 4.0]).convergence(1.0)
    assert [(p.begin, p.flows, p.after) for p in parts] == [(1.0, 2, 2.0)]
    with pytest.raises(ac.InputError, match="`delta` is 0; give a share between 0 and 1"):
        made(shares, [0.0, 0.0]).convergence(1.0, delta=0.0)


def test_rates_and_shares_are_those_of_the_tables(run):
    flows = run.over_time()
    found = flows.throughput("flow", 1.0)
    assert found.names == [f"flow {n}" for n in range(4)]
    total = np.nansum(found.values * found.bins.widths, axis=1) / 8
    assert (total >= run.flows["bytes_delivered"].to_numpy()).all()
    series = run.traces["flow_series"]
    assert total.sum() == pytest.approx(pc.sum(series["bytes_arrived"]).as_py())
    assert pc.sum(series["bytes_delivered"]).as_py() == pc.sum(run.flows["bytes_delivered"]).as_py()
    shares = flows.shares("stack", 1.0)
    assert shares.names == ["cubic", "reno"]
    assert shares.flows.tolist() == [2, 2] or shares.flows.sum() == 4
    assert np.nansum(shares.values, axis=0) == pytest.approx(1.0)
    # No bin carries more than the link can.
    assert np.nansum(found.values, axis=0).max() <= 5e6
    with pytest.raises(ac.InputError, match="`by` is `colour`; expected `flow`, `stack` or `group`"):
        flows.throughput("colour")


def test_throughput_draws_them_beside_the_rate_of_the_bottleneck(run):
    (axes,) = run.plot.throughput(by="flow", width=1.0).axes
    drawn = lines(axes)
    expected = run.over_time().throughput("flow", 1.0)
    for i, name in enumerate(expected.names):
        x, y = next(v for label, v in drawn.items() if label.startswith(name))
        assert x == pytest.approx(expected.bins.middles)
        assert y == pytest.approx(expected.values[i] / 1e6, nan_ok=True)
    assert drawn["rate of the bottleneck"][1].tolist() == [5.0, 5.0]
    assert axes.get_ylabel() == "throughput (Mbit/s)"
    assert axes.get_xlabel() == "time (s)"
    words = [t.get_text() for t in axes.get_legend().get_texts()]
    assert any("cubic" in w for w in words) and any("reno" in w for w in words)


def test_shares_are_those_of_stacks_where_several_compete(run):
    drawn = lines(run.plot.shares(width=1.0).axes[0])
    expected = run.over_time().shares("stack", 1.0)
    names = [next(label for label in drawn if label.startswith(stack)) for stack in ("cubic", "reno")]
    for i, name in enumerate(names):
        assert drawn[name][1] == pytest.approx(100 * expected.values[i], nan_ok=True)


def test_many_flows_are_a_median_and_a_range(many):
    axes = many.plot.throughput(by="flow", width=1.0).axes[0]
    drawn = lines(axes)
    values = many.over_time().throughput("flow", 1.0).values / 1e6
    assert drawn["median of 20 flows"][1] == pytest.approx(np.nanmedian(values, axis=0))
    assert drawn["equal share of the bottleneck"][1][0] == pytest.approx(5 / 20)
    assert lines(many.plot.throughput(width=1.0).axes[0]).keys() > {"rate of the bottleneck"}, "by stack"


def test_windows_and_round_trips_are_those_of_the_table(run):
    fig = run.plot.cwnd()
    windows, times = (lines(axes) for axes in fig.axes)
    table = run.traces["flow_series"].filter(pc.equal(run.traces["flow_series"]["flow"], 2))
    name = next(label for label in windows if label.startswith("flow 2"))
    y = windows[name][1]
    assert y[np.isfinite(y)] == pytest.approx(table["cwnd"].drop_null().to_numpy() / 1024)
    known = table["rtt"].drop_null().to_numpy()
    y = times[name][1]
    assert y[np.isfinite(y)] == pytest.approx(known * 1e3)
    assert (known >= 0.04).all(), "no sample is below the path's round-trip time"


def test_fairness_draws_the_index_and_says_when_flows_were_fair(run):
    axes = run.plot.fairness(width=1.0, delta=0.9).axes[0]
    index = run.over_time().jain(1.0)[1]
    (name,) = (label for label in lines(axes) if label.startswith("mix"))
    assert lines(axes)[name][1] == pytest.approx(index, nan_ok=True)
    last = run.over_time().convergence(1.0, 0.9)[-1]
    assert last.flows == 4 and last.after is not None
    marks = [line.get_xdata()[0] for line in axes.get_lines() if "0.9-fair: index" in line.get_label()]
    assert marks == [pytest.approx(last.begin + last.after)]
    alone = ac.Scenario(text(1).replace("mix = { cubic = 0.5, reno = 0.5 }", "")).simulate()
    with pytest.raises(ac.InputError, match="fairness needs two flows at a time"):
        alone.plot.fairness()


def test_a_queue_shows_its_delay_and_its_drops_by_cause(run, many):
    delay, drops = run.plot.queue(width=1.0).axes
    series = many.traces["link_series"]
    mine = LinkOverTime(
        run.traces["link_series"].filter(pc.equal(run.traces["link_series"]["name"], "bottleneck"))
    )
    _, mean, largest = mine.sojourn(1.0)
    drawn = lines(delay)
    assert drawn["mix"][1] == pytest.approx(mean * 1e3, nan_ok=True)
    assert drawn["largest of the bin"][1] == pytest.approx(largest * 1e3, nan_ok=True)
    assert [t.get_text() for t in drops.get_legend().get_texts()] == ["dropped: queue full"]
    red = {t.get_text() for t in many.plot.queue().axes[1].get_legend().get_texts()}
    assert "dropped: early" in red
    link = many.links.filter(pc.equal(many.links["name"], "bottleneck")).to_pylist()[0]
    counts = {
        c: pc.sum(series.filter(pc.equal(series["link"], 0))[c]).as_py()
        for c in ("dropped_full", "dropped_early")
    }
    assert counts == {c: link[c] for c in counts}
    assert link["dropped_full"] + link["dropped_early"] == link["dropped_queue"]
    assert link["sojourn_median"] <= link["sojourn_p95"] <= link["sojourn_p99"] <= link["sojourn_max"]
    # RED's queue has room for two bandwidth-delay products: 80 ms.
    assert 0 < link["sojourn_mean"] < 0.08
    with pytest.raises(ac.InputError, match="`b` is not a link; expected one of bottleneck"):
        run.plot.queue(link="b")


def test_several_runs_have_a_panel_each_and_one_line_each():
    found = ac.Scenario(text().replace("mix = { cubic = 0.5, reno = 0.5 }", "")).simulate()
    assert [a.get_title(loc="left") for a in found.plot.throughput().axes] == ["cubic", "reno"]
    assert len(found.plot.throughput("reno").axes) == 1
    assert {label.split(" ")[0] for label in lines(found.plot.fairness().axes[0])} >= {"cubic", "reno"}
    assert {"cubic", "reno"} == set(lines(found.plot.queue().axes[0]))
    with pytest.raises(ac.InputError, match="there are several runs: give one of cubic, reno"):
        found.over_time()
    with pytest.raises(ac.InputError, match="`vegas` is not a run; expected one of cubic, reno"):
        found.plot.shares("vegas")


def test_without_tables_over_time_one_sentence_says_what_to_give():
    plain = ac.Scenario(text()).but({"series": "0s"}).simulate()
    assert plain.links["sojourn_mean"].null_count == plain.links.num_rows
    for draw in (
        plain.plot.throughput,
        plain.plot.shares,
        plain.plot.queue,
        plain.plot.cwnd,
        plain.plot.fairness,
    ):
        with pytest.raises(ac.InputError, match='give the scenario `series = "100ms"`'):
            draw()


def test_series_are_the_same_for_any_number_of_workers_and_survive_a_folder(tmp_path):
    scenario = ac.Scenario(text().replace("mix = { cubic = 0.5, reno = 0.5 }", "repeat = 2"))
    one, two = scenario.simulate(workers=1), scenario.simulate(workers=2)
    for name in ("flow_series", "link_series"):
        assert one.traces[name].equals(two.traces[name])
    again = ac.load(one.save(tmp_path / "run"))
    assert again.traces["flow_series"].equals(one.traces["flow_series"])
    assert again.series_labels == ["cubic #1", "cubic #2", "reno #1", "reno #2"]
    assert (tmp_path / "run" / "throughput.png").exists()


def test_traces_name_the_flow_and_its_end():
    found = (
        ac.Scenario(text(2))
        .but({"series": "0s", "trace": '["samples", "packets", "state", "episodes"]'})
        .simulate()
    )
    for name in ("samples", "segments", "episodes", "state"):
        table = found.traces[name]
        connection = table["connection"].to_numpy()
        assert (table["flow"].to_numpy() == connection // 2).all()
        assert table["side"].to_pylist() == ["client" if c % 2 == 0 else "server" for c in connection], name


def test_numbers_of_endless_flows(run):
    rows = endless.described(run)
    assert [r["stack"] for r in rows] == ["cubic", "reno"]
    numbers = [r["endless"] for r in rows]
    assert sum(n["share"] for n in numbers) == pytest.approx(1.0)
    goodput = run.flows["goodput"].to_numpy()
    cubic = np.array([s == "cubic" for s in run.flows["stack"].to_pylist()])
    assert numbers[0]["goodput"] == pytest.approx(goodput[cubic].sum())
    mine = goodput[cubic]
    assert (
        numbers[0]["fairness"] == pytest.approx(mine.sum() ** 2 / (mine.size * (mine**2).sum()))
        or mine.size < 2
    )
    assert 0.04 < numbers[0]["rtt"] < 0.15
    link = run.links.filter(pc.equal(run.links["name"], "bottleneck")).to_pylist()[0]
    sent = run.flows["segments_sent"].to_numpy()
    mean = (run.flows["queue_delay_mean"].to_numpy() * sent).sum() / sent.sum()
    assert mean == pytest.approx(link["sojourn_mean"], rel=0.02)
    assert max(n["queue_delay_max"] for n in numbers) == pytest.approx(link["sojourn_max"])
    dropped = sum(n["loss"] * sent[cubic == (i == 0)].sum() for i, n in enumerate(numbers))
    assert dropped == pytest.approx(link["dropped_queue"] + link["dropped_wire"], abs=50)
    assert run.summary["stacks"][0]["endless"] == numbers[0]


def test_the_interval_for_a_run_that_asks_for_none():
    tree = ac.Scenario(text()).resolve_tree()
    assert endless.is_endless(tree)
    assert endless.interval(tree, wanted=False) == "50ms"
    tree["workload"][0]["flows"] = 5_000
    assert endless.interval(tree, wanted=False) == "200ms"
    tree["workload"][0]["flows"] = 100_000
    assert endless.interval(tree, wanted=False) is None
    assert endless.interval(tree, wanted=True) == "500ms"


def test_the_command_line_records_what_figures_need_and_says_so(ackclock, tmp_path):
    (tmp_path / "two.toml").write_text(text().replace('series = "200ms"\n', ""))
    done = ackclock(
        "run", "two.toml", "--plot", "queue", "--plot", "fairness", "--plot", "shares", "--plot", "cwnd"
    )
    assert done.code == 0, done
    assert 'Recorded for the figures: series = "50ms".' in done.err
    assert "runs/two, with cwnd.png, fairness.png, queue.png, shares.png and throughput.png" in done.err
    assert 'series = "50ms"' in (tmp_path / "runs" / "two" / "scenario.toml").read_text()
    answer, _, numbers = done.out.partition("\n\n")
    assert answer.startswith("Of the payload that all delivered, "), done.out
    head = numbers.splitlines()
    assert head[0] == "Every number covers the whole run, 12 s."
    assert head[1].split() == [
        *("stack", "flows", "goodput", "share", "fairness", "rtt", "queue", "queue", "max"),
        *("loss", "retransmitted", "timeouts"),
    ]
    assert len(head) == 4


def test_a_run_of_endless_flows_has_a_figure_without_asking(ackclock, tmp_path):
    (tmp_path / "one.toml").write_text(text().replace('series = "200ms"\n', ""))
    done = ackclock("run", "one.toml", "--json")
    assert (tmp_path / "runs" / "one" / "throughput.svg").exists()
    assert set(done.json["stacks"][0]["endless"]) == {
        *("goodput", "share", "fairness", "rtt", "retransmitted", "loss"),
        *("queue_delay", "queue_delay_max", "queue_delay_p99"),
    }


def test_an_unknown_figure_is_one_sentence(ackclock, tmp_path):
    (tmp_path / "two.toml").write_text(text())
    done = ackclock("run", "two.toml", "--plot", "latency")
    assert done.code == 2
    assert done.is_one_sentence(), done.err
    assert not (tmp_path / "runs").exists()


def test_a_line_of_samples_breaks_where_nothing_was_measured():
    from ackclock.plot.over_time import joined

    x = np.arange(20.0)
    values = np.full(20, np.nan)
    # Every second bin has a sample, but for an outage from 6 to 16.
    values[[0, 2, 4, 6, 16, 18]] = 1.0
    at, shown = joined(x, values)
    assert at.tolist() == [0, 2, 4, 6, 7, 16, 18]
    assert np.flatnonzero(np.isnan(shown)).tolist() == [4]
    # Samples that are as far apart as they mostly are stay joined.
    assert not np.isnan(joined(x, np.where(x % 6 == 0, 1.0, np.nan))[1]).any()
