"""The answer of a run: sentences that rank the stacks by what counts for their traffic."""

from __future__ import annotations

import json

import pytest

import ackclock as ac
from ackclock.quantities import rate, seconds
from ackclock.results import endless

SINGLE = """\
seed = 1
duration = "5s"
{more}
[path]
kind = "single"
rtt = "50ms"
link = {{ rate = "10Mbit/s", queue = {{ kind = "drop-tail", limit = "1bdp" }} }}
"""
TWO = '\n[stacks]\nreno = "newreno"\nbbr = "linux-bbr"\n'


@pytest.fixture
def answered(tmp_path):
    """The run of a scenario, from what follows its path."""

    def run(text, more=""):
        file = tmp_path / "s.toml"
        file.write_text(SINGLE.format(more=more) + text)
        return ac.Scenario.read(file).simulate()

    return run


def test_endless_flows_are_ranked_by_what_they_delivered(answered):
    run = answered('\n[[workload]]\nkind = "bulk"\nflows = 2\n' + TWO)
    by = {row["stack"]: endless.numbers(run, row) for row in run.stacks}
    low, high = sorted(by, key=lambda name: by[name]["goodput"])
    first, waits, harm = run.answer[0], run.answer[-2], run.answer[-1]
    assert first.startswith(f"{high} delivered most payload: {rate(by[high]['goodput'])}, ")
    assert first.endswith(f" % more than {low} ({rate(by[low]['goodput'])}).")
    assert all(f"{seconds(n['queue_delay'])} with {name}" in waits for name, n in by.items())
    assert harm.startswith("Packets dropped: ")
    assert "timeouts: " in harm


def test_transfers_are_ranked_by_their_times_and_what_did_not_finish_is_told(answered):
    run = answered('\n[[workload]]\nkind = "fixed"\nflows = 3\nstagger = "2s"\nsize = "1MB"\n' + TWO)
    rows = {row["stack"]: row for row in run.stacks}
    first = min(rows, key=lambda name: rows[name]["mean"])
    assert run.answer[0].startswith(("Transfers were fastest with ", "Transfers took about the same time "))
    assert seconds(rows[first]["mean"]) in run.answer[0]
    left = {name: row["flows"] - row["finished"] for name, row in rows.items()}
    assert any(left.values())
    (said,) = [s for s in run.answer if s.startswith("Transfers that did not finish: ")]
    assert all((f"{n} of {rows[name]['flows']} with {name}" in said) == (n > 0) for name, n in left.items())


def test_another_order_at_the_median_is_told():
    """The README's figure: without backoff the mean falls and the median rises."""
    run = ac.Scenario.read("scenarios/congested-dumbbell.toml").but({"duration": "10s"}).simulate()
    by = {row["stack"]: row for row in run.stacks}
    assert by["no backoff"]["mean"] < by["tcp"]["mean"]
    assert by["no backoff"]["median"] > by["tcp"]["median"]
    assert run.answer[0].startswith("Transfers were fastest with no backoff")
    assert run.answer[1].startswith(f"At the median tcp is fastest ({seconds(by['tcp']['median'])};")


def test_seeds_are_averaged_and_counted(answered):
    text = '\n[[workload]]\nkind = "web"\nload = 1.1\n\n[stacks]\ntcp = "sack"\nslow = "sack+min-rto(3s)"\n'
    run = answered(text, 'repeat = 3\ndrain = "60s"')
    means = {}
    for row in run.stacks:
        means.setdefault(row["stack"], []).append(row["mean"])
    best = min(means, key=lambda name: sum(means[name]))
    won = sum(means[best][n] == min(m[n] for m in means.values()) for n in range(3))
    assert run.answer[0].startswith(f"Transfers were fastest with {best}: {seconds(sum(means[best]) / 3)} on")
    assert run.answer[0].endswith("(means of 3 seeds).")
    assert f"{best} was first with {won} of 3 seeds." in run.answer
    assert not any("one seed" in s for s in run.answer)


def test_stacks_that_share_a_link_have_shares(answered):
    each = '\n[[workload]]\nname = "{0}"\nkind = "bulk"\nstack = "{0}"\nflows = {1}\n'
    run = answered(each.format("reno", 1) + each.format("bbr", 2) + TWO)
    first = run.answer[0]
    assert first.startswith("Of the payload that all delivered, ")
    for row in run.stacks:
        assert f"{row['stack']} " in first
        assert rate(endless.numbers(run, row)["goodput"]) in first
    assert " got " in first
    # Shares of unlike numbers of flows say of how many.
    assert ", 1 flow)" in first
    assert ", 2 flows)" in first


def test_different_traffic_is_not_ranked():
    run = ac.Scenario.read("scenarios/fq-codel.toml").but({"duration": "5s"}).simulate()
    assert run.answer[0].startswith("The 2 stacks carry different traffic and are not ranked: ")
    # Both have the bottleneck's own number.
    assert " with both; timeouts: " in run.answer[-1]


def test_rounds_are_what_a_fan_in_is_measured_by():
    run = ac.Scenario.read("scenarios/incast.toml").but({"duration": "3s"}).simulate()
    medians = {c["stack"]: c["completion_median"] for c in run.summary["classes"]}
    best = min(medians, key=medians.get)
    assert run.answer[0].startswith(
        f"Rounds of the fan-in were fastest with {best}: {seconds(medians[best])} at the median, "
    )


def test_a_video_is_measured_by_how_it_played():
    run = ac.Scenario.read("scenarios/video.toml").but({"duration": "10s"}).simulate()
    assert len([s for s in run.answer if "the video began to play after" in s]) == len(run.stacks)


def test_one_stack_has_its_payload_the_bottleneck_and_its_timeouts(answered):
    run = answered('\n[[workload]]\nkind = "bulk"\n\n[stacks]\ntcp = "sack"\n')
    (row,) = run.stacks
    (said,) = run.answer
    assert said.startswith(
        f"tcp delivered {rate(endless.numbers(run, row)['goodput'])} of payload; the bottl"
    )
    assert f"was busy {100 * row['utilisation']:.3g} % of the time" in said
    assert said.endswith(" fired.")


def test_datagrams_alone_rank_nothing(answered):
    run = answered('\n[[workload]]\nkind = "udp"\nrate = "12Mbit/s"\n' + TWO)
    (said,) = run.answer
    assert said.startswith("No TCP connection began; only datagrams crossed, of which ")


def test_what_downloads_got_beside_responses_is_told():
    run = ac.Scenario.read("scenarios/bufferbloat.toml")
    run = run.but({"duration": "15s", "stacks.bbr": "{ preset = 'sack', window = 'bbr' }"}).simulate()
    assert run.answer[0].startswith("Responses were fastest with ")
    (said,) = [s for s in run.answer if s.startswith("Payload over the bottleneck: ")]
    assert all(f"{rate(row['goodput'])} with {row['stack']}" in said for row in run.stacks)


def test_nothing_delivered_is_no_rank(answered):
    run = answered('\n[[workload]]\nkind = "bulk"\nstart = "4.99s"\n' + TWO)
    assert run.answer[0] == "No stack delivered any payload."


def test_the_answer_is_in_the_folder_and_is_made_anew_from_it(ackclock, tmp_path):
    file = tmp_path / "s.toml"
    file.write_text(SINGLE.format(more="") + '\n[[workload]]\nkind = "bulk"\nflows = 2\n' + TWO)
    done = ackclock("run", file, "--out", tmp_path / "out", "--json")
    said = json.loads(done.out)["answer"]
    assert said == json.loads((tmp_path / "out/summary.json").read_text())["answer"]
    again = ac.load(tmp_path / "out")
    assert again.answer == said
    assert "answer" not in again.about
