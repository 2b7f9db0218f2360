"""Workloads whose connections carry many requests: their tables, numbers and sentences."""

import json

import numpy as np
import pytest

import ackclock as ac
from ackclock import _core
from ackclock.reproduce.real import between_kernels
from ackclock.results import workloads

PATH = ac.Single(link=ac.Link("10Mbit/s", queue="drop-tail"), rtt="20ms")


def test_exchanges_of_persistent_connections():
    run = ac.simulate(
        PATH,
        ac.Http(flows=3, requests=4, response="20kB", response_distribution="fixed", think="10ms"),
        "sack+no-nagle",
        duration="20s",
    )
    table = run.traces["exchanges"]
    assert table.num_rows == 12
    assert set(table["bytes"].to_pylist()) == {20_000}
    times = np.sort(table["response_time"].to_numpy())
    (stack,) = run.stacks
    assert stack["max"] == times[-1] and stack["mean"] == pytest.approx(times.mean(), abs=1e-8)
    (row,) = run.summary["classes"]
    assert (row["group"], row["responses"], row["response_max"]) == ("http", 12, times[-1])
    assert row["response_median"] == times[5] == stack["median"]
    (sentence,) = workloads.sentences([row], run.flows)
    assert sentence.startswith("sack+no-nagle: 12 responses took "), sentence


def test_rounds_of_a_fan_in_and_a_second_class():
    run = ac.simulate(
        PATH,
        [ac.FanIn(flows=4, rounds=3, response="10kB"), ac.Http(flows=1, requests=1, start="10s")],
        "sack+no-nagle",
        duration="20s",
    )
    rounds = run.traces["rounds"]
    assert rounds["responses"].to_pylist() == [4] * 3
    fan_in, http = run.summary["classes"]
    assert fan_in["goodput"] == pytest.approx(3 * 40_000 * 8 / sum(rounds["completion_time"].to_pylist()))
    first, second = workloads.sentences([fan_in, http], run.flows)
    assert first.startswith("fan-in (sack+no-nagle): 3 rounds of the fan-in took "), first
    assert second.startswith("http (sack+no-nagle): 1 response took "), second


def test_videos_and_their_folder(tmp_path):
    run = ac.simulate(
        PATH, ac.Video(length="20s", levels=1, bitrate="20Mbit/s"), "sack+no-nagle", duration="60s"
    )
    table = run.traces["playback"]
    row = table.to_pylist()[0]
    assert row["rebuffering"] == pytest.approx(row["stalled"] / (row["stalled"] + row["played"]))
    assert row["stalls"] == 4 and row["bitrate"] == 20e6
    run.save(tmp_path / "video")
    again = ac.load(tmp_path / "video")
    assert again.traces["playback"].equals(table) and again.summary == run.summary
    (sentence,) = workloads.sentences(run.summary["classes"], run.flows)
    assert "stalled 4 times for " in sentence and "and had a mean bitrate of 20 Mbit/s" in sentence


def test_a_run_without_such_workloads_has_no_such_tables():
    run = ac.simulate(PATH, ac.Bulk(flows=2, stop="2s"), "sack", duration="5s")
    assert not run.traces and "classes" not in run.summary
    assert run.flows["outcome"].to_pylist() == ["finished"] * 2


def test_the_command_answers_first_and_reads_a_log(ackclock, tmp_path):
    (tmp_path / "web.csv").write_text(
        "time,bytes,class,stack\n7,5000,pages,new\n8.5,20000,pages,new\n9,70000,,old\n"
    )
    (tmp_path / "one.toml").write_text(
        'duration = "5s"\n[path]\nkind = "single"\nlink = { rate = "10Mbit/s" }\nrtt = "10ms"\n'
        '[[workload]]\nkind = "log"\nfile = "web.csv"\n'
        '[[workload]]\nkind = "fan-in"\nflows = 2\nrounds = 2\nstack = "new"\n'
        '[stacks]\nnew = "cubic+no-nagle"\nold = "reno"\n'
    )
    result = ackclock("run", "one.toml", "--out", "out")
    assert result.code == 0, result.err
    first = "The 2 stacks carry different traffic and are not ranked: with new, "
    assert result.out.startswith(first), result.out
    assert "\nfan-in (new): 2 rounds of the fan-in took " in result.out.partition("\n\n")[0], result.out
    run = ac.load(tmp_path / "out")
    seen = {(r["group"], r["stack"], r["size"]) for r in run.flows.to_pylist() if r["size"]}
    assert seen == {("pages", "new", 5000), ("pages", "new", 20_000), ("log", "old", 70_000)}
    summary = json.loads((tmp_path / "out" / "summary.json").read_text())
    assert [c["group"] for c in summary["classes"]] == ["fan-in"]
    # The folder repeats the run, without the log.
    (tmp_path / "again.toml").write_text((tmp_path / "out" / "scenario.toml").read_text())
    again = ac.simulate(tmp_path / "again.toml")
    assert again.flows.equals(run.flows) and again.traces["rounds"].equals(run.traces["rounds"])


@pytest.mark.parametrize(
    ("text", "message"),
    [
        (
            "time,bytes\n1,x\n",
            "web.csv:2: column 2: `bytes` is text of 1 character, which is not a whole number from 1 to "
            "1125899906842624",
        ),
        ("time,bytes,stack\n1,2,none\n", "web.csv:2: column 3: `stack` is not one of `[stacks]`: tcp"),
        ("time;bytes\n", "web.csv:1: the heading of column 1 is not known; expected"),
    ],
)
def test_a_wrong_log_has_its_line_and_column(tmp_path, text, message):
    (tmp_path / "web.csv").write_text(text)
    (tmp_path / "one.toml").write_text(
        'path = { kind = "single", link = { rate = "10Mbit/s" }, rtt = "10ms" }\n'
        'workload = { kind = "log", file = "web.csv" }\nstacks = { tcp = "sack" }\n'
    )
    with pytest.raises(ac.ScenarioError) as met:
        ac.simulate(tmp_path / "one.toml")
    assert message in str(met.value)


def test_keys_of_workloads_are_checked_where_they_are_given():
    cases = [
        (lambda: ac.Http(requests="none"), "`requests` is `none`"),
        (lambda: ac.Http(think_distribution="uniform"), "`think_distribution` is `uniform`"),
        (lambda: ac.Video(bitrate="fast"), "`bitrate` is `fast`"),
        (lambda: ac.FanIn(response=5), "`response` is `5`"),
        (lambda: ac.FanIn(service="soon"), "`service` is `soon`"),
        (lambda: ac.Log(origin="now"), "`origin` is `now`"),
        (lambda: ac.Bulk(stop="later"), "`stop` is `later`"),
    ]
    for make, message in cases:
        with pytest.raises(ac.AckclockError) as met:
            make()
        assert message in str(met.value), str(met.value)


REAL = """
duration = "6s"
path = { kind = "single", link = { rate = "20Mbit/s" }, rtt = "20ms" }
stacks = { tcp = "cubic+no-nagle" }
[[workload]]
kind = "http"
flows = 3
requests = 5
response = "30kB"
think = "100ms"
[[workload]]
kind = "video"
chunk = "1s"
length = "8s"
levels = 1
bitrate = "1Mbit/s"
[[workload]]
kind = "bulk"
start = "4s"
stop = "5s"
"""


@pytest.mark.parametrize("carriers", [("kernel", "kernel"), ("engine", "kernel")])
def test_the_same_applications_run_over_real_connections(carriers):
    found = between_kernels([{"flows": REAL, "carriers": carriers}])
    if isinstance(found, str):
        pytest.skip(found)
    flows = found[0]["flows"]
    assert set(flows["outcome"]) == {"finished"} and set(flows["wrong_byte"]) == {None}
    by_group = dict(zip(flows["group"], flows["response_times"], strict=True))
    assert [len(times) for group, times in zip(flows["group"], flows["response_times"], strict=True)] == [
        {"http": 5, "video": 8, "bulk": 0}[group] for group in flows["group"]
    ]
    # A request takes a round trip of 20 ms at least.
    assert min(by_group["http"]) > 0.02
    # 20 Mbit/s for a second, and what the send buffer held at the end of it.
    (delivered,) = (
        n for group, n in zip(flows["group"], flows["bytes_delivered"], strict=True) if group == "bulk"
    )
    assert 1e6 < delivered < 8e6


def test_real_connections_refuse_flows_that_wait_for_each_other():
    text = (
        'path = { kind = "single", link = { rate = "20Mbit/s" }, rtt = "20ms" }\n'
        'workload = { kind = "fan-in" }\nstacks = { tcp = "sack" }\n'
    )
    with pytest.raises(ac.AckclockError, match="wait for each other, which only the simulator supports"):
        _core.emulated_flows(text, ("engine", "engine"), [], [], False, None)
