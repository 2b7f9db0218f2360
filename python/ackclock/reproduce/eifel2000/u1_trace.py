from __future__ import annotations

import itertools

import numpy as np
import pyarrow as pa

from ackclock.models import Timer
from ackclock.plot import timers as draw
from ackclock.reproduce.eifel2000 import f8_precise_restart as f8
from ackclock.reproduce.eifel2000 import testbed
from ackclock.reproduce.eifel2000.model import WORDS
from ackclock.reproduce.item import Check, Outcome, Setting, at_most, exactly, item
from ackclock.results.timing import SAMPLINGS, Timing

SECONDS = 15_000
HOSTS = {"RTO_L": testbed.lite(), "RTO_E": testbed.eifel()}
TIMERS = {
    "RTO_L": Timer.parse("lite(max_rto=1h)"),
    "RTO_E": Timer.parse("eifel(tick=500ms, rounded=true, max_rto=1h)"),
}
OPTION = {"every": "every-segment", "once": "once-per-rtt"}
SETTLED = 60.0


@item(
    "E-U1",
    kind="CAP",
    title="From a trace of packets to round-trip times and timers",
    choices={
        **{key: testbed.CHOICES[key] for key in ("line", "queue", "sender", "timers")},
        "trace": "the packets of simulated hosts, in the table `segments` that every world fills; "
        "timestamps off",
        "window": "not in a trace: the flight takes its place, and half of the flight at the first "
        "retransmission of a loss for the threshold",
        "sampling": "every segment by Karn's rule, or one after the other",
        "countdown": "on E-F8's line, where timeouts are frequent; those whose last ack brought a valid "
        "sample, so that nothing is backed off",
    },
    tests=[
        "tests/test_timing.py::test_a_trace_gives_what_the_sender_logged",
        "tests/test_timing.py::test_samples_follow_karn",
        "tests/test_timing.py::test_one_segment_after_the_other_is_timed",
    ],
)
def reproduce(setting: Setting) -> Outcome:
    """What the packets show, against what the sender itself logged; the figure replays both timers over one
    trace.
    """
    checks: list[Check] = []
    tables, shown = [], None
    for sampling, (name, stack) in itertools.product(SAMPLINGS, HOSTS.items()):
        run = testbed.transfer(testbed.line(), {name: stack.but(rtt_sampling=OPTION[sampling])}, SECONDS)
        timing = Timing.of(testbed.rows(run, "segments", name), sampling)
        log = testbed.Log.of(run, name)
        there = timing.sampled
        rto = timing.replay(TIMERS[name])["rto"][there]
        what = f"{name}, {'every segment' if sampling == 'every' else 'one per round trip'}"
        checks.append(exactly(f"{what}: samples", int(there.sum()), log.rtt.size))
        if there.sum() == log.rtt.size:
            off = [
                float(np.abs(a - b).max())
                for a, b in ((timing.time[there], log.time), (timing.rtt[there], log.rtt), (rto, log.rto))
            ]
            checks.append(
                at_most(
                    f"{what}: largest difference of times, RTTs and timeouts (s)",
                    max(off),
                    testbed.TICK,
                    "one tick",
                )
            )
            tables.append(
                pa.table(
                    {
                        "host": [what] * log.rtt.size,
                        "time": log.time,
                        "rtt": log.rtt,
                        "rto_logged": log.rto,
                        "rto_from_packets": rto,
                    }
                )
            )
        shown = shown or timing
    for countdown, column in (("REXMT_L", "restart"), ("REXMT_E", "precise")):
        off, count = expiries(countdown, column)
        checks.append(
            at_most(f"{countdown}: largest difference of {count} expiries (s)", off, testbed.TICK, "one tick")
        )
    return Outcome(checks, {"samples": pa.concat_tables(tables)}, {"timers": figure(shown)})


def expiries(countdown: str, column: str) -> tuple[float, int]:
    """How far the moments at which REXMT ends by the packets lie from the retransmissions, and how many there
    are.
    """
    run = f8.Reading(sampling="every segment, Karn").scenario(["packets"]).simulate()
    packets = testbed.rows(run, "segments", countdown)
    timing = Timing.of(packets)
    made = timing.replay(Timer.parse("jacobson88-ticks(max_rto=1h)"))
    kind, time = (packets[name].to_numpy(zero_copy_only=False) for name in ("kind", "time"))
    at = time[(kind == "timeout-retransmit") & (time > SETTLED)]
    last = np.searchsorted(timing.time, at, "left") - 1
    # The first retransmission after an ack with a valid sample.
    first = np.append(True, last[1:] != last[:-1]) & timing.sampled[last]
    off = at[first] - (timing.time + made[column])[last[first]]
    return float(np.abs(off).max()), int(first.sum())


def figure(timing: Timing) -> object:
    """Both timers over the packets of one transfer, as the paper's figures 11 to 14 show them."""
    log = testbed.Log(
        timing.time[timing.sampled],
        timing.rtt[timing.sampled],
        timing.replay(TIMERS["RTO_L"])["rto"][timing.sampled],
    )
    cycles = log.cycles()
    part = slice(cycles[0].start, cycles[1].stop)
    other = timing.replay(TIMERS["RTO_E"])["rto"][timing.sampled]
    shown = log[part]
    time, rtt = testbed.with_gaps(shown, shown.rtt)
    rto = {
        WORDS["RTO_L"]: testbed.with_gaps(shown, shown.rto)[1],
        WORDS["RTO_E"]: testbed.with_gaps(shown, other[part])[1],
    }
    return draw(
        time - time[0],
        rtt,
        rto,
        title="Two timers over one trace of packets",
        subtitle=f"{testbed.SUBTITLE}, every segment timed",
    )
