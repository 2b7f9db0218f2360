"""The rules of the paper, driven over a path that loses chosen packets: what its algorithms do there."""

from __future__ import annotations

from typing import Any

import ackclock as ac
from ackclock.reproduce import driven
from ackclock.reproduce.item import Check, at_least, at_most, between, exactly, six_digits
from ackclock.reproduce.mathis97 import probes, vegas

ONE = {"kind": "reno", "initial_window": "segments", "initial_segs": 1, "byte_counting": False}
"""A window that begins with one segment and counts acks."""
LARGE = {"rcv_buf": "1MiB", "snd_buf": "1MiB"}


def tcp(recovery: Any, window: dict[str, Any] | None = None, **more: Any) -> ac.Stack:
    """A stack with that recovery, slow-start from one segment and an ack for each packet. A recovery by name
    is without Limited Transmit, which came later (RFC 3042).
    """
    if isinstance(recovery, str) and recovery != "timeout-only":
        recovery = {"kind": recovery, "limited_transmit": False}
    given = {"ack": "every", **LARGE, **more}
    return ac.Stack("sack", recovery=recovery, window=window or ONE, **given)


def avoidance() -> list[Check]:
    """M-A1: 1/W for each ack, half at a signal and at least two segments, one signal for all losses of a
    round trip.
    """
    whole = {**ONE, "whole_segs_left": True}
    grown = driven.transfer(tcp("sack", {**ONE, "phases": "avoidance", "initial_segs": 8}), 80).growth()
    many = driven.transfer(tcp("sack", whole), 80, lost=[20, 22, 24])
    outstanding, window, _ = many.cut()
    small = driven.transfer(tcp("newreno", {**whole, "initial_segs": 3}, rcv_buf="4000B"), 30, lost=[12])
    return [
        at_most(
            "largest difference from W += 1/W (segments)",
            max(abs(more - 1 / w) for w, more in grown),
            0.001,
            "a byte",
        ),
        exactly(
            "window after three losses of one round trip: half, whole segments",
            window,
            outstanding // 2 * 1.0,
        ),
        exactly("signals that they are", many.flow["ca_events"], 1),
        exactly("window (segments) after a loss out of four", small.cut()[1], 2.0),
    ]


def delayed_acks() -> list[Check]:
    """M-A2: segments for each ack, the timer, and acks while something is missing."""
    wide = {**ONE, "initial_segs": 24}
    covered = {}
    for name, rule in (("2", "delayed"), ("4", {"kind": "delayed", "ack_every_segs": 4})):
        acks = [a for _, a in driven.transfer(tcp("sack", wide, ack=rule), 24).acks]
        covered[name] = max(b - a for a, b in zip([0, *acks], acks, strict=False))
    # The first is acknowledged at once, and with the last one comes the end.
    typed = ac.Telnet(packets=3, think="10s", bytes=f"{driven.MSS}B")
    one = driven.transfer(tcp("sack", ack="delayed"), 0, workload=typed)
    hole = driven.transfer(tcp("sack", wide, ack="delayed"), 24, lost=[5])
    slow = driven.transfer(tcp("sack", {**ONE, "phases": "avoidance", "initial_segs": 8}, ack="delayed"), 80)
    return [
        exactly("most segments for an ack", covered["2"], 2),
        exactly("and of a receiver that stretches them to 4", covered["4"], 4),
        six_digits(
            "ack of a lone segment (s) after it arrived",
            round(next(t for t, a in one.acks if a == 2) - one.sent[1].time - driven.RTT, 3),
            0.2,
        ),
        exactly("acks while 19 segments arrive behind a missing one", sum(a == 4 for _, a in hole.acks), 19),
        between(
            "growth in ten round trips over that with an ack for each segment, half",
            slow.growth()[-1][0] - 8,
            0.4 * len(slow.by_round()),
            0.6 * len(slow.by_round()),
        ),
    ]


def tahoe() -> list[Check]:
    """M-A3: the third duplicate ack, a window of one, slow-start to half of the window; the threshold stays
    in the paper's wording.
    """
    found = driven.transfer(tcp("tahoe"), 100, lost=[40])
    outstanding, window, threshold = found.cut()
    copy = next(s for s in found.sent if s.again)
    kept = driven.transfer(
        tcp("tahoe", {**ONE, "keep_ssthresh": True, "initial_ssthresh": "9000B"}), 100, lost=[40]
    ).cut()
    return [
        exactly("duplicate acks before the segment is sent again", found.duplicates(copy.time, 39), 3),
        exactly("window (segments) then, and timeouts", [window, found.flow["timeouts"]], [1.0, 0]),
        six_digits("threshold over half of what was outstanding", (threshold or 0) / (outstanding / 2), 1),
        exactly("with `keep_ssthresh` the threshold (segments) stays", kept[2], 9.0),
    ]


def one_loss(recovery: Any) -> list[Check]:
    """What all recoveries but Tahoe's do with one loss: third duplicate ack, half of the window, no timer."""
    found = driven.transfer(tcp(recovery), 100, lost=[40])
    outstanding, window, _ = found.cut()
    copy = next(s for s in found.sent if s.again)
    return [
        exactly("one loss: duplicate acks before it is sent again", found.duplicates(copy.time, 39), 3),
        six_digits("window over half of what was outstanding", window / (outstanding / 2), 1),
        exactly(
            "copies, timeouts, cuts",
            [len(found.again), found.flow["timeouts"], found.flow["window_cuts"]],
            [1, 0, 1],
        ),
    ]


def two_losses(recovery: Any) -> driven.Driven:
    """Two losses of one window."""
    return driven.transfer(tcp(recovery), 100, lost=[40, 44])


def reno() -> list[Check]:
    """M-A4: the first new ack ends recovery, so that a second loss is a second cut."""
    found = two_losses("reno")
    return [
        *one_loss("reno"),
        at_least("two losses in a window: cuts", found.flow["window_cuts"], 2, "at least"),
    ]


def newreno() -> list[Check]:
    """M-A5: a partial ack sends the next hole, and recovery goes on."""
    found = two_losses("newreno")
    first, second = (s.time for s in found.sent if s.again)
    return [
        *one_loss("newreno"),
        exactly("two losses: copies", found.again, [39, 43]),
        six_digits("round trips between them", round((second - first) / driven.RTT, 3), 1),
        exactly("cuts, timeouts", [found.flow["window_cuts"], found.flow["timeouts"]], [1, 0]),
    ]


def sack() -> list[Check]:
    """M-A6: both holes are sent in the same round trip, the first one first."""
    found = two_losses("sack")
    first, second = (s.time for s in found.sent if s.again)
    return [
        *one_loss("sack"),
        exactly("two losses: copies", found.again, [39, 43]),
        at_most("round trips between them", (second - first) / driven.RTT, 0.5, "less than"),
        exactly("cuts, timeouts", [found.flow["window_cuts"], found.flow["timeouts"]], [1, 0]),
    ]


def fack() -> list[Check]:
    """M-A7: recovery begins when the forward-most SACK is more than three segments ahead, or with the third
    duplicate ack.
    """
    begun = {}
    halve = {"kind": "fack", "adjustment": "halve", "each_hole": False, "limited_transmit": False}
    for name, rule in (("fack", halve), ("sack", "sack")):
        found = driven.transfer(tcp(rule), 100, lost=[40, 41, 42, 43])
        copy = next(s for s in found.sent if s.again)
        begun[name] = found.duplicates(copy.time, 39)
    return [
        *one_loss(halve),
        exactly("four losses in a row: duplicate acks before the first copy", begun["fack"], 1),
        exactly("and of SACK", begun["sack"], 3),
    ]


def rate_halving() -> list[Check]:
    """M-A8 and M-E15: (W - loss)/2 after a round trip with a segment for every two acks; new data goes before
    the first copy; three segments are enough to repair one loss.
    """
    rule = {"kind": "fack", "adjustment": "rate-halving"}
    checks = []
    for lost in ([40], [40, 44]):
        found = driven.transfer(tcp(rule), 120, lost=lost)
        copy = next(s for s in found.sent if s.again)
        begun = next(t for n, (t, a) in enumerate(found.acks) if n and a == found.acks[n - 1][1])
        flight = len({s.number for s in found.sent if s.time < begun}) - 39
        sent = [s for s in found.sent if begun <= s.time < begun + 0.9 * driven.RTT]
        acks = [t for t, _ in found.acks if begun <= t < begun + 0.9 * driven.RTT]
        new = sum(s.time < copy.time for s in sent)
        after = min(w for t, w, _ in found.windows if t > begun)
        checks += [
            between(
                f"{len(lost)} lost: window over (W - loss)/2", after / ((flight - len(lost)) / 2), 0.9, 1.1
            ),
            between("acks for each segment sent in the round trip", len(acks) / len(sent), 1.8, 2.2),
            exactly("new segments before the first copy", new, 1),
        ]
    few = driven.transfer(tcp(rule, {**ONE, "initial_segs": 3}), 30, lost=[1])
    checks.append(exactly("timeouts of one loss out of three", few.flow["timeouts"], 0))
    return checks


def thresholded() -> list[Check]:
    """M-A9: each hole waits for three later segments."""
    rule = {"kind": "fack", "adjustment": "halve", "each_hole": True}
    found = driven.transfer(tcp(rule), 120, lost=[40, 60])
    second = next(s for s in found.sent if s.number == 59 and s.again)
    arrived = {s.number for s in found.sent if not s.again and s.time + driven.RTT < second.time}
    later = sum(n > 59 for n in arrived)
    return [
        exactly("copies", found.again, [39, 59]),
        at_least("segments above the second hole that were reported before its copy", later, 3, "at least"),
    ]


def lost_retransmission() -> list[Check]:
    """M-A10: found without the timer; the window is cut again where that is asked for."""
    counts = {}
    for name in ("ignore", "resend", "reduce"):
        rule = tcp({"kind": "fack", "adjustment": "rate-halving", "lost_retransmissions": name})
        first = driven.transfer(rule, 200, lost=[40])
        copy = next(n for n, s in enumerate(first.sent, 1) if s.again)
        found = driven.transfer(rule, 200, lost=[40, copy])
        counts[name] = [len(found.again) > 1, found.flow["timeouts"], found.flow["window_cuts"]]
    return [
        exactly("sent again, timeouts, cuts: not looked for", counts["ignore"], [True, 1, 2]),
        exactly("looked for", counts["resend"], [True, 0, 1]),
        exactly("with another cut", counts["reduce"], [True, 0, 2]),
    ]


def bounds() -> list[Check]:
    """M-A11: a receiver that repeats every ack leaves no more than half of the window."""
    rule = {"kind": "fack", "adjustment": "rate-halving", "bounds": True}
    twice = {"faults": [{"kind": "duplicate", "p": 1, "of": "acks"}]}
    found = driven.transfer(tcp(rule), 120, lost=[40], back=twice)
    before = max(w for t, w, _ in found.windows if t < next(s.time for s in found.sent if s.again))
    during = next(t for t, w, s in found.windows if s is not None)
    after = [w for t, w, _ in found.windows if during + driven.RTT < t < during + 3 * driven.RTT]
    return [between("window after the repair over that before", min(after) / before, 2 / before, 0.5)]


def links() -> list[Check]:
    """M-A12: packets that a drop-tail queue holds whatever their size, and a link that loses at random
    without a queue.
    """
    drops = {}
    for size in (500, 1000):
        link = {"rate": "1Mbit/s", "queue": {"kind": "drop-tail", "limit": "10packets"}}
        burst = {**ONE, "initial_segs": 16}
        drops[size] = driven.transfer(tcp("sack", burst), 16, link=link, size=size).link["dropped_full"]
    lossy = {"faults": [{"kind": "loss", "p": 0.02, "of": "data"}]}
    found = driven.transfer(tcp("sack"), 4000, link=lossy, seconds=300)
    sent, lost = found.flow["data_segments_sent"], found.link["dropped_wire"]
    four_sigma = 4 * (0.02 * 0.98 / sent) ** 0.5
    return [
        exactly(
            "of 16 packets at once, dropped behind one in service and ten that wait", drops, {500: 5, 1000: 5}
        ),
        between("share lost by a link with p = 0.02", lost / sent, 0.02 - four_sigma, 0.02 + four_sigma),
        at_most("its mean queue (packets)", found.link["queue_mean_packets"], 0.01, "at most"),
    ]


def instruments() -> list[Check]:
    """M-U1: what each kind of loss counts as."""

    def counted(found: driven.Driven) -> list[int]:
        return [found.flow[k] for k in ("ca_events", "non_ca_events", "other_losses", "segments_acked")]

    one = counted(driven.transfer(tcp("sack"), 100, lost=[40]))
    three = counted(driven.transfer(tcp("sack"), 100, lost=[40, 42, 44]))
    timer = counted(driven.transfer(tcp("timeout-only"), 100, lost=[40]))
    return [
        exactly("one loss: CA and non-CA events, other losses, segments with the FIN", one, [1, 0, 0, 101]),
        exactly("three in a window", three, [1, 0, 2, 101]),
        exactly("a timeout: CA and non-CA events", timer[:2], [0, 1]),
    ]


def of_links() -> list[Check]:
    """M-U2: 11 of 16 packets that come at once at a queue of ten, each of which takes 8.32 ms."""
    link = {"rate": "1Mbit/s", "queue": {"kind": "drop-tail", "limit": "10packets"}}
    found = driven.transfer(tcp("timeout-only", {**ONE, "initial_segs": 16}), 16, link=link).link
    return [
        exactly("drops", found["dropped_full"], 5),
        exactly("most packets that waited", found["queue_max_packets"], 10),
    ]


def treno() -> list[Check]:
    """M-U3: loss and round-trip time of a path that loses every hundredth packet, 60 ms."""
    path = probes.path("30ms", {"kind": "periodic-loss", "every": 100})
    found = probes.simulated(path, probes.settings(60, warmup=5))
    return [
        between("p (signals for each packet) over 0.01", found["p"] / 0.01, 0.95, 1.05),
        between("mean round-trip time (ms)", 1e3 * found["rtt"]["mean"], 59.9, 60.1),
        exactly("timeouts", found["timeouts"], 0),
    ]


def background() -> list[Check]:
    """M-U5: a probe every 50 ms before, during and after a test that fills a queue of 100 packets."""
    queue = {"kind": "drop-tail", "limit": "100packets"}
    path = probes.path("30ms", None, rate="2Mbit/s", queue=queue)
    found = probes.simulated(path, probes.settings(30, background=200))["background"]
    waited = found["during"]["median_of_means"] - found["before"]["median_of_means"]
    return [
        exactly(
            "probes before, during 30 s, after",
            [found[k]["sent"] for k in ("before", "during", "after")],
            [200, 600, 200],
        ),
        between("idle: median of means (ms)", 1e3 * found["before"]["median_of_means"], 60, 61),
        # 100 packets of 1500 bytes at 2 Mbit/s take 600 ms.
        between("busy: median of means less that (ms)", 1e3 * waited, 60, 600),
    ]


def vegas_window() -> list[Check]:
    """M-A14: alpha to beta of the segments are in the queue."""
    packet, rate = (driven.MSS + 40) * 8, 1e6
    stack = ac.Stack("reno", window=vegas.RULE, ack="every", timestamps=False, **LARGE)
    link = {"rate": f"{rate:.0f}bit/s", "queue": {"kind": "drop-tail", "limit": "50packets"}}
    found = driven.transfer(stack, 2000, link=link, seconds=120)
    base = driven.RTT + packet / rate
    late = [w for t, w, _ in found.windows if 5 < t < 15]
    waiting = [w - base * rate / packet for w in late]
    return [
        between("segments in the queue", waiting, 1 - 1, 3 + 1),
        exactly("cuts", found.flow["window_cuts"], 0),
    ]
