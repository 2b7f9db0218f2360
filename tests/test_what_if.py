"""What-if, limits, models and sentences of captures, as a user has them."""

import json
import re

import pyarrow.compute as pc
import pyarrow.parquet as pq
import pytest

import ackclock as ac
from ackclock.reproduce.mathis97 import captured
from ackclock.results.captured import summary

TIMERS = "rfc6298,rfc6298(min_rto=200ms)+no-backoff,eifel,as-run+no-backoff"


def run(*faults, workload=None, stack="newreno+no-sack", seconds=60):
    """A transfer of 400 kB over 8 Mbit/s and 60 ms, its packets traced."""
    link = ac.Link("8Mbit/s", queue=ac.queue.DropTail(limit="200packets"), faults=list(faults))
    stack = ac.Stack(stack, mss=f"{captured.MSS}B", rcv_buf="4MiB")
    scenario = ac.Scenario.of(
        ac.Single(link, rtt="60ms"),
        workload or ac.Fixed(size="400kB"),
        {captured.STACK: stack},
        duration=f"{seconds}s",
        trace=["packets"],
    )
    return scenario.simulate()


def write(path, simulated):
    rows = simulated.traces["segments"]
    path.write_bytes(captured.pcap(rows.filter(pc.equal(rows["connection"], 0)), captured.MSS))
    return path


@pytest.fixture(scope="module")
def outage(tmp_path_factory):
    """An outage from 300 ms to 4.3 s: RFC 6298 tries after 1, 3 and 7 s."""
    return write(
        tmp_path_factory.mktemp("captures") / "outage.pcap",
        run(ac.fault.Outage(from_="300ms", until="4300ms")),
    )


def timers(direction):
    return {w["timer"]: w for w in direction["what_if"]}


def test_other_timers_are_replayed(outage):
    found = ac.read_capture(outage, what_if=TIMERS)
    w = timers(found.connections[0]["directions"][0])
    assert list(w) == ["as-run", *TIMERS.split(",")]
    ran = w["as-run"]
    assert ran["waited"] == pytest.approx(7, rel=0.01)
    assert (ran["timeouts"], ran["rounds"], ran["spurious"]) == (3, 3, 0)
    # The same timer again is the sender.
    assert w["rfc6298"]["waited"] == pytest.approx(ran["waited"], abs=0.01)
    # What it would have been, simulated; the end of the outage lies somewhere between the last two
    # retransmissions.
    for name, made in [
        ("rfc6298(min_rto=200ms)+no-backoff", "newreno+no-sack+min-rto(200ms)+no-backoff"),
        ("eifel", "newreno+no-sack+eifel-timer"),
    ]:
        other = run(ac.fault.Outage(from_="300ms", until="4300ms"), stack=made)
        real = sum(t["rto"] for t in captured.sender(captured.capture(other))["timeouts"])
        assert w[name]["waited_least"] <= real + 0.05, name
        assert real <= w[name]["waited_most"] + 0.05, name
        assert abs(w[name]["waited"] - real) <= 0.6 * real, name
    (episode,) = ran["episodes"]
    assert (episode["path"], episode["of"]) == ("dead", "data")
    assert episode["response"] == pytest.approx(episode["t_end"] - episode["t_start"])


def test_a_tail_loss_is_timed_to_the_millisecond(tmp_path):
    loss = ac.fault.SegmentLoss(offset="399kB")
    found = ac.read_capture(write(tmp_path / "tail.pcap", run(loss)), what_if=TIMERS)
    w = timers(found.connections[0]["directions"][0])
    assert w["as-run"]["waited"] == pytest.approx(1, abs=0.01)
    for name, made in [("rfc6298(min_rto=200ms)+no-backoff", "newreno+no-sack+min-rto(200ms)+no-backoff")]:
        other = captured.sender(captured.capture(run(loss, stack=made)))
        # The receiver delays the ack of the retransmission for as long as that timer runs: it expires once
        # more, spuriously.
        assert w[name]["timeouts"] == len(other["timeouts"]) == 2
        assert (w[name]["waited"], w[name]["spurious"]) == (pytest.approx(0.2, abs=0.002), 1)


def test_tables_have_the_same(ackclock, outage, tmp_path):
    done = ackclock("capture", outage, "--what-if", TIMERS, "--parquet", tmp_path / "tables", "--json")
    assert done.code == 0, done
    direction = done.json["connections"][0]["directions"][0]
    rows = pq.read_table(tmp_path / "tables" / "what_if.parquet").to_pylist()
    rows = {r["timer"]: r for r in rows if r["connection"] == 0}
    for name, w in timers(direction).items():
        for key in ("timeouts", "spurious", "early", "rounds", "waited", "waited_least", "waited_most"):
            assert rows[name][key] == pytest.approx(w[key]), (name, key)
    stalls = pq.read_table(tmp_path / "tables" / "stalls.parquet")
    assert stalls.num_rows == sum(
        len(w["episodes"]) for d in done.json["connections"][0]["directions"] for w in d["what_if"]
    )
    assert stalls.schema.field("waited").metadata[b"unit"] == b"s"


def test_without_a_request_nothing_is_kept(outage):
    found = ac.read_capture(outage)
    assert all(d["what_if"] == [] for c in found.connections for d in c["directions"])
    assert found.what_if.num_rows == found.stalls.num_rows == 0
    assert "Time spent waiting" not in " ".join(found.summary())


def test_all_and_a_list_of_names(outage):
    every = timers(ac.read_capture(outage, what_if="all").connections[0]["directions"][0])
    assert {
        "as-run",
        "rfc793",
        "jacobson88",
        "lite",
        "eifel",
        "eifel-agg",
        "rfc6298",
        "as-run+none",
        "as-run+linear",
    } <= set(every)
    two = timers(
        ac.read_capture(outage, what_if=["lite(tick=200ms)", "rfc6298+star(3)"]).connections[0]["directions"][
            0
        ]
    )
    assert list(two) == ["as-run", "lite(tick=200ms)", "rfc6298+star(3)"]


@pytest.mark.parametrize(
    ("names", "said"),
    [
        ("rfc6289", "did you mean `rfc6298`"),
        ("rfc6298+sta(3)", "did you mean `star`"),
        ("rfc6298(minrto=1s)", "did you mean `min_rto`"),
        ("rfc6298(min_rto=1)", "give a number with a unit"),
        ("rfc6298+iw(10)", "changes no timer"),
        ("eifel,,lite", "`` is not a known timer"),
        ("as-run+min-rto(1s)", "cannot change `as-run`"),
        ("lite(", "is not a timer with parameters"),
    ],
)
def test_wrong_names_are_refused_with_the_nearest(ackclock, outage, names, said):
    done = ackclock("capture", outage, "--what-if", names)
    assert done.code == 2
    assert done.is_one_sentence()
    assert said in done.err


def test_the_terminal_describes_it_in_sentences(ackclock, outage):
    done = ackclock("capture", outage, "--what-if", TIMERS)
    assert done.code == 0, done
    answer, *others = done.out.splitlines()
    first, _, third = [line for line in others if not line.startswith("Another ")][:3]
    assert answer.startswith("It took 9.4") and "7 s, from packet 53" in answer
    assert first.startswith("Stalled 7 s of ")
    assert "3 timeouts (2 with backoff, up to 4 s)" in first
    assert third.startswith("Time spent waiting for timeouts: actual 7 s; with rfc6298 ")
    assert "The client was limited by waiting for timers" in done.out
    assert (
        "The timers of the client as they ran, and others in their place, with the losses of this" in done.out
    )
    heads = next(line for line in done.out.splitlines() if line.startswith("timer "))
    meant = done.out[done.out.index(heads) :]
    for name in ("early", "streak", "waited", "least", "most", "if repeated"):
        assert name in heads
        assert re.search(rf"(?m)^(least, )?{name}(, most)?: ", meant), name


def test_a_summary_of_a_capture_without_timeouts_says_so(tmp_path):
    found = ac.read_capture(write(tmp_path / "clean.pcap", run()), what_if="eifel")
    assert found.summary()[0].startswith("No timeout in ")
    assert found.connections[0]["summary"] == found.summary()


def timeout(**keys):
    return {
        "t": 0,
        "of": "data",
        "round": 1,
        "rto": 1.0,
        "eifel_spurious": False,
        "outage": False,
        "remedy": None,
        **keys,
    }


def connection(*timeouts):
    """One that timed out so often, one timeout after the other."""
    timeouts = [{**t, "t": 10.0 * i} for i, t in enumerate(timeouts)]
    counts = dict.fromkeys(("retransmitted_packets", "unneeded_packets"), 0)
    direction = {
        "timeouts": timeouts,
        "retransmissions": [],
        "packets": 9,
        "massive_reordering": False,
        "what_if": [],
        **counts,
    }
    return {"duration": 31.0, "directions": [direction, {**direction, "timeouts": []}]}


@pytest.mark.parametrize(
    ("timeouts", "said"),
    [
        ([], "No timeout in 31 s."),
        (
            [timeout(remedy="probe")],
            "Stalled 1 s of 31 s in 1 timeout; it was a tail loss that a probe would have recovered.",
        ),
        (
            [timeout(remedy="probe")] * 5,
            "Stalled 5 s of 31 s in 5 timeouts; all were tail losses that a probe would have recovered.",
        ),
        (
            [timeout(of="syn"), timeout(remedy="probe"), timeout(round=2, rto=3.2)],
            "Stalled 5.2 s of 31 s in 3 timeouts (1 with backoff, up to 3.2 s); 1 in the handshake, 1 "
            "for lost retransmissions, with backoff, 1 for tail losses that a probe would have "
            "recovered.",
        ),
        (
            [timeout(eifel_spurious=True)] * 2,
            "Stalled 2 s of 31 s in 2 timeouts; both would have been avoided by a longer timer.",
        ),
        ([timeout()], "Stalled 1 s of 31 s in 1 timeout; no ack had reported the loss in time."),
    ],
)
def test_sentences(timeouts, said):
    assert summary([connection(*timeouts)])[0] == said


def test_near_the_receiver_other_timers_are_not_judged():
    far = connection(timeout(remedy="probe"))
    row = {
        "timer": "eifel",
        "timeouts": 0,
        "spurious": 0,
        "early": 0,
        "rounds": 0,
        "waited": 0.0,
        "waited_least": 0.0,
        "waited_most": 0.0,
    }
    far["directions"][1]["what_if"] = [row]
    assert (
        summary([far])[-1]
        == "What other timers would have done is unknown: the capture was taken near the receiver."
    )
    near = connection(timeout())
    near["directions"][0]["what_if"] = [{**row, "timeouts": 1, "waited": 1.0, "waited_most": 1.0}]
    assert (
        summary([near])[-1]
        == "Time spent waiting for timeouts: with eifel about 1 s (at least 0 s, at most 1 s)."
    )
    assert summary([near, far])[-1].startswith(
        "Time spent waiting for timeouts, of senders near the capture: with eifel about 1 s"
    )


def test_where_both_sides_wait_it_counts_once():
    both = connection(timeout(rto=2.0), timeout(rto=2.0))
    both["directions"][1] = {**both["directions"][0], "timeouts": [timeout(t=1.0, rto=2.0)]}
    assert summary([both])[0].startswith("Stalled 5 s of 31 s in 3 timeouts")


def test_an_application_that_pauses_is_seen(tmp_path):
    # An eighth of what the link carries, a third of the time.
    pauses = ac.OnOff(on="1s", off="2s", rate="1Mbit/s")
    found = ac.read_capture(write(tmp_path / "pauses.pcap", run(workload=pauses, seconds=30)))
    limits = found.connections[0]["directions"][0]["limits"]
    total = sum(limits.values())
    assert total == pytest.approx(found.connections[0]["duration"])
    assert limits["application"] / total > 0.85, limits


def test_models_stand_beside_what_was_achieved(tmp_path):
    loss = ac.fault.Loss(p=0.01, of="data")
    found = ac.read_capture(
        write(tmp_path / "lossy.pcap", run(loss, workload=ac.Fixed(size="8MB"), seconds=120))
    )
    there, back = found.connections[0]["directions"]
    m = there["models"]
    assert back["models"] is None
    assert m["achieved"] == pytest.approx(
        8 * there["bytes_acked"] / (found.connections[0]["duration"] - there["limits"]["handshake"]), rel=0.1
    )
    for key in ("mathis", "pftk"):
        assert 0.5 < m[key]["ratio"] < 1.6, m
        assert not m[key]["p_uncertain"]
    assert m["mathis"]["p"] == there["p"]


def test_the_series_has_windows_in_repairs_too(tmp_path):
    found = ac.read_capture(write(tmp_path / "series.pcap", run(ac.fault.Loss(p=0.01, of="data"))))
    samples = found.samples.filter(pc.equal(found.samples["connection"], 0))
    assert (
        pc.sum(pc.is_valid(samples["rtt"])).as_py() == found.connections[0]["directions"][0]["rtt"]["samples"]
    )
    assert samples["rtt"].null_count > 0
    assert pc.all(pc.greater_equal(samples["cwnd"], 0)).as_py()
    assert pc.min(samples["cwnd"]).as_py() < pc.max(samples["cwnd"]).as_py()


def test_the_report_is_json(outage):
    report = ac.read_capture(outage, what_if="all").report
    assert json.loads(json.dumps(report, allow_nan=False)) == report
