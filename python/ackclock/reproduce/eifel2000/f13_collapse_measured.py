from __future__ import annotations

import itertools

import numpy as np
import pyarrow as pa

import ackclock as ac
from ackclock.models.eifel2000 import RowModel
from ackclock.reproduce.eifel2000 import model, testbed
from ackclock.reproduce.item import Outcome, Setting, at_least, item
from ackclock.results import Run

SECONDS = 25_000


@item(
    "E-F13",
    kind="SIM",
    title="The collapsed timeout of the Lite timer, with real losses",
    choices={
        **testbed.CHOICES,
        "samples": "every segment, by timestamps; compared in seconds, the sample exact and the timeout "
        "made of whole ticks",
        "what decides": "what the paper and the Lite timer state: 240 bytes a second with room for 40 "
        "packets, which make the paper's 250 s (E-E17; with 41 it would be 256 s), and a countdown that a "
        "fast retransmission restarts, as 4.4BSD-Lite's code does; other readings are in the notes",
        "end of a cycle": "its last flight: of the step-by-step model's own rows 14 % are so close, of those "
        "in its last flight 33 % (with ticks 9 and 30)",
        "comparison": "a measured cycle is stretched to the model's rows (load 40, tick 500 ms), as its "
        "flights are longer by a segment or two",
    },
)
def reproduce(setting: Setting) -> Outcome:
    """The sender's own log over some cycles, beside the step-by-step model of E-F4; then what other readings
    of the testbed give.
    """
    log, run = measure()
    cycles = log.cycles()
    rows = RowModel(testbed.PACKETS, model.CYCLES, testbed.SERVICE).run(model.ticked("lite", "500ms")).cycle()
    correlation = min(testbed.correlation(log.rto[c], rows.rto) for c in cycles)
    readings = [reading(*r) for r in itertools.product((40, 41), (10, 8), (True, False))]
    checks = [
        at_least(
            "share of samples at the end of a cycle with RTO_L - RTT below 2 ticks, least of all cycles",
            min(closeness(log, c) for c in cycles[1:]),
            0.2,
            "at least",
        ),
        at_least("correlation of RTO_L with E-F4's, least of all cycles", correlation, 0.9, "more than"),
    ]
    fig = testbed.figure(
        log,
        cycles,
        "RTO_L",
        "The collapsed timeout, with real losses",
        f"{testbed.SUBTITLE}, every segment timed",
        zoom=True,
    )
    flow = run.flows.to_pylist()[0]
    notes = [
        "; ".join(
            f"{r['packets']} packets, {r['bits_for_each_byte']} bits a byte, "
            f"{'restarted' if r['fast_retransmission_restarts'] else 'not restarted'}: "
            f"{100 * float(r['share_below_2_ticks_last_flight']):.0f} %"
            for r in readings
        )
        + " of a last flight below 2 ticks.",
        "Whole cycles: "
        f"{np.mean([(log.rto - log.rtt)[c] < 2 * testbed.TICK for c in cycles[1:2]]):.3f} of the "
        "samples are below 2 ticks.",
        "Samples in steady state that come after RTO(i-1): "
        f"{sum(int((log.ratio[c] < 1).sum()) for c in cycles[1:])} of "
        f"{sum(log.rtt[c].size for c in cycles[1:])}; yet no timeout is spurious then "
        f"({flow['timeouts']} at the start, where RTTs grow from the handshake's 0.5 s to 6 s): each "
        "ack starts the countdown in full, so that it lasts one round-trip time longer (E-A4).",
        "The table `readings` varies what the paper leaves open. With 41 segments in the line, odd "
        "loads last half a tick more than whole ticks: rounding alone then keeps RTTVAR up, and fewer "
        "samples at the end of a cycle come close. With 8 bits for each byte (5 s, whole ticks) a "
        "fifth of all samples do, wherever in the cycle.",
        "Where a fast retransmission does not restart Lite's countdown (RFC 6298), the collapsed "
        "timeout does expire, once in each cycle: what was resent waits behind a full queue for longer "
        "than the rest of a countdown that began with the last new ack.",
    ]
    return Outcome(
        checks,
        {"samples": testbed.table(log), "readings": pa.Table.from_pylist(readings)},
        {"rto": fig},
        notes,
    )


def measure(room: int = testbed.PACKETS, framing: int = 10, restarts: bool = True) -> tuple[testbed.Log, Run]:
    """The log of a Lite sender with timestamps, and its run."""
    stack = testbed.lite(timestamps=True)
    if not restarts:
        stack = stack.but(timer=ac.timer.RestartOnAck(heartbeat="500ms"))
    run = testbed.transfer(testbed.line(room=room, framing=framing), {"Lite": stack}, SECONDS)
    return testbed.Log.of(run, "Lite"), run


def closeness(log: testbed.Log, cycle: slice) -> float:
    """Which share of the samples of a cycle's last flight find the timeout less than two ticks above them."""
    rtt, above = log.rtt[cycle], (log.rto - log.rtt)[cycle]
    return float((above[rtt > 0.99 * rtt.max()] < 2 * testbed.TICK).mean())


def reading(room: int, framing: int, restarts: bool) -> dict[str, object]:
    """The same numbers under another reading of the testbed, each from its third cycle."""
    log, run = measure(room, framing, restarts)
    cycles = log.cycles()
    flow = run.flows.to_pylist()[0]
    return {
        "packets": room,
        "bits_for_each_byte": framing,
        "fast_retransmission_restarts": restarts,
        "share_below_2_ticks_last_flight": closeness(log, cycles[2]),
        "share_below_2_ticks": float(((log.rto - log.rtt)[cycles[2]] < 2 * testbed.TICK).mean()),
        "timeouts": flow["timeouts"],
        "fast_recoveries": flow["fast_recoveries"],
    }
