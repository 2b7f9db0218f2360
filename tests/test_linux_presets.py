"""What the presets of Linux owe to the kernel, where a comparison once showed a difference."""

from __future__ import annotations

import pytest

import ackclock as ac


def flows(path, workload, stack, **options):
    """The flows of four seeds."""
    scenario = ac.Scenario.of(path, workload, {"x": stack}, seeds=[1, 2, 3, 4], **options)
    return scenario.simulate().flows.to_pylist()


def total(rows, column):
    return sum(row[column] for row in rows)


def lossy(rate="20Mbit/s", **faults):
    return ac.Single(ac.Link(rate, delay="20ms", queue=ac.queue.DropTail(limit="1bdp"), faults=[faults]))


@pytest.mark.parametrize("tick", ["0s", "4ms"])
def test_a_probe_takes_the_place_of_the_timer_for_a_single_packet(tick):
    # Both expire in the same moment: on a coarse clock, too, the probe comes first, and repairs most losses.
    stack = ac.Stack("linux", timer_tick=tick)
    found = flows(lossy(kind="loss", p=0.05), ac.Telnet(flows=20), stack, duration="10s")
    assert total(found, "tail_loss_probes") > 2 * total(found, "timeouts") > 0


def test_racks_window_adapts_to_delayed_packets():
    # Without what Linux takes for reordering, each of some 150 late packets a run is sent again.
    path = lossy(kind="reorder", p=0.02, delay="15ms")
    found = flows(path, ac.Bulk(), "linux", duration="5s")
    assert all(row["unneeded_retransmissions"] < 40 for row in found), found


@pytest.mark.parametrize(
    ("stack", "least"),
    [("linux", 160e6), (ac.Stack("sack", snd_buf="1MiB", rcv_buf="16MiB"), 78e6)],
)
def test_a_send_buffer_that_limits_is_used_in_every_round_trip(stack, least):
    # A mebibyte in a round trip of 100 ms is 83.9 Mbit/s.
    path = ac.Single(ac.Link("200Mbit/s", delay="50ms", queue=ac.queue.DropTail(limit="1bdp")))
    scenario = ac.Scenario.of(path, ac.Bulk(), {"x": stack}, duration="12s", measure_from="6s")
    (flow,) = scenario.simulate().flows.to_pylist()
    assert flow["goodput"] > least


def test_acks_of_a_window_that_opens_end_slow_start():
    # The kernel leaves slow start at 59 segments in each of eight runs, since its receiver acknowledges every
    # segment that lets the window open: HyStart's train needs acks that are less than 2 ms apart.
    path = ac.Single(ac.Link("10Mbit/s", delay="20ms", queue=ac.queue.DropTail(limit="5bdp")))
    run = ac.Scenario.of(path, ac.Bulk(), {"x": "linux"}, duration="600ms", series="100ms").simulate()
    thresholds = {t // 1448 for t in run.tables()["flow_series"]["ssthresh"].to_pylist() if t}
    assert len(thresholds) == 1 and 56 <= thresholds.pop() <= 62


def test_a_burst_of_losses_is_reported_whole():
    # An overflow of BBR's start-up loses two of four segments in a row, some 500 in all. The kernel's acks
    # report all others, as its retransmissions show.
    path = ac.Single(ac.Link("100Mbit/s", delay="30ms", queue=ac.queue.DropTail(limit="1bdp")))
    (row,) = (
        ac.Scenario.of(path, ac.Bulk(), {"x": "linux-bbr"}, duration="900ms").simulate().flows.to_pylist()
    )
    assert row["retransmitted_segments"] > 400
    assert row["unneeded_retransmissions"] < 10
