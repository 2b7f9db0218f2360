from __future__ import annotations

import pyarrow as pa

import ackclock as ac
from ackclock.plot import curves, style
from ackclock.reproduce.item import Check, Outcome, Setting, at_least, exactly, item
from ackclock.reproduce.mathis97 import captured

# N and k of the synthetic traces: 1, 2 and 3 CA events over some 6,500 packets are the paper's bands near
# 0.00015, 0.00035 and 0.0005.
PACKETS = 6500
EVENTS = (1, 2, 3, 4, 8)
OUTAGE = "1500ms"
ROOM = "128KiB"
LEAST = 5.0
SECONDS = 100.0


@item(
    "M-F11",
    kind="CAP, SIM",
    title="Real TCP over an overbuffered path, by trace instruments",
    choices={
        **captured.CHOICES,
        "synthetic traces": f"{PACKETS} packets of 1460 bytes at 10 Mbit/s and 40 ms, a receiver's buffer "
        f"of {ROOM}, single packets lost more than a window apart; the outage loses "
        f"all for {OUTAGE}",
        "overbuffered path": "2 Mbit/s, 72.9 ms of propagation (the paper's minimum), a drop-tail queue of "
        "1.7 s (its maximum RTT less the minimum)",
        "duration": f"{SECONDS:g} s, the paper's (M-F10)",
    },
    tests=[
        "tests/test_capture.py::test_p_is_ca_events_over_packets_and_few_are_uncertain",
        "tests/test_capture.py::test_an_outage_is_seen_as_one",
    ],
)
def reproduce(setting: Setting) -> Outcome:
    """Traces with known losses give p and classes back; the overbuffered path shows the paper's round-trip
    times.
    """
    checks: list[Check] = []
    rows = []
    for k in EVENTS:
        found = captured.sender(captured.capture(with_losses(k)))
        rows.append(
            {
                "events": k,
                "ca_events": found["ca_events"],
                "packets": found["packets_acked"],
                "p": found["p"],
                "uncertain": found["p_uncertain"],
            }
        )
        checks.append(
            exactly(
                f"k = {k}: CA events over packets", [found["ca_events"], found["packets_acked"]], [k, PACKETS]
            )
        )
        checks.append(exactly(f"k = {k}: p is uncertain", found["p_uncertain"], k < 4))
    outage = captured.sender(captured.capture(with_outage()))
    classes = [e["class"] for e in outage["episodes"] if e["outage"]]
    checks.append(exactly("an outage: episodes flagged, all non-CA", classes, ["non_ca"]))
    checks.append(exactly("an outage: CA events", outage["ca_events"], 0))
    over = captured.capture(overbuffered())
    rtt = captured.sender(over)["rtt"]
    checks.append(
        at_least("overbuffered path: mean RTT over the least", rtt["mean"] / rtt["min"], LEAST, "5")
    )
    notes = [
        f"Overbuffered path: RTT {1e3 * rtt['min']:.1f} ms at least, {1e3 * rtt['mean']:.0f} ms on "
        f"average, {1e3 * rtt['max']:.0f} ms at most (paper: 72.9 ms, 461 ms under test and up to 1 s, "
        "1800 ms).",
        f"p on it: {captured.sender(over)['ca_events']} CA events.",
    ]
    samples = captured.samples(over).select(["time", "rtt", "pipe"])
    return Outcome(
        checks, {"traces": pa.Table.from_pylist(rows), "rtt": samples}, {"rtt": figure(samples)}, notes
    )


def with_losses(k: int) -> ac.results.Run:
    """A transfer of `PACKETS` packets of which `k` are lost, each in a window of its own."""
    # Evenly over what follows the first slow start.
    numbers = [1000 + (PACKETS - 2000) * (i + 1) // (k + 1) for i in range(k)]
    faults = [ac.fault.NthLoss(number=n, of="data") for n in numbers]
    link = ac.Link("10Mbit/s", queue=ac.queue.DropTail(limit="20000packets"), faults=faults)
    return captured.transfer(link, "40ms", 600, ac.Fixed(size=f"{PACKETS * captured.MSS}B"), ROOM)


def with_outage() -> ac.results.Run:
    """The same transfer, all of whose packets are lost for a while."""
    link = ac.Link(
        "10Mbit/s",
        queue=ac.queue.DropTail(limit="20000packets"),
        faults=ac.fault.Outage(from_="3s", until="4500ms"),
    )
    return captured.transfer(link, "40ms", 600, ac.Fixed(size=f"{PACKETS * captured.MSS}B"), ROOM)


def overbuffered() -> ac.results.Run:
    """The site's path: a queue of some seconds."""
    return captured.transfer(ac.Link("2Mbit/s", queue=ac.queue.DropTail(limit="1700ms")), "72.9ms", SECONDS)


def figure(samples: pa.Table) -> object:
    """Round-trip times over the transfer."""
    time, rtt = (samples[name].to_numpy() for name in ("time", "rtt"))
    fig = curves(
        time,
        [("round-trip time", rtt)],
        title="Round-trip times through an overbuffered queue",
        subtitle="2 Mbit/s, 72.9 ms, drop-tail of 1.7 s; one NewReno transfer, by its capture",
        xlabel="time (s)",
        ylabel="round-trip time (s)",
    )
    (axes,) = fig.axes
    style.gaps(axes, time, rtt, "no samples: what the full queue dropped is retransmitted")
    axes.legend(loc="lower right", fontsize=9)
    return fig
