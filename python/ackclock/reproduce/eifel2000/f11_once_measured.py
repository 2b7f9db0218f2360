from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import pyarrow as pa

import ackclock as ac
from ackclock.models.eifel2000 import RowModel, Rows
from ackclock.reproduce.eifel2000 import model, testbed
from ackclock.reproduce.eifel2000.f8_precise_restart import AVOIDANCE, LITE, WINDOWS
from ackclock.reproduce.item import Outcome, Setting, at_least, at_most, item, stated, within
from ackclock.results.timing import Timing

CHOICES = {
    **testbed.CHOICES,
    "samples": "one segment after the other is timed (E-A3 a), timestamps off; a retransmission ends a "
    "timing (Karn)",
    "step-by-step model": "load 40, tick 500 ms, service time 6.25 s, the first row of each flight timed",
    "ratios": "RTO(i-1)/RTT(i), of samples in steady state",
}
SECONDS = 60_000


@dataclass(frozen=True)
class Measured:
    """A transfer of which one segment after the other is timed: its log, its cycles, and the round-trip times
    of all of its segments.
    """

    log: testbed.Log
    cycles: list[slice]
    every: testbed.Log

    @staticmethod
    def of(stack: ac.Stack, path: ac.Single | None = None) -> Measured:
        """Runs it with one sample per round trip."""
        run = testbed.transfer(
            path or testbed.line(), {"host": stack.but(rtt_sampling="once-per-rtt")}, SECONDS
        )
        log = testbed.Log.of(run, "host")
        t = Timing.of(testbed.rows(run, "segments", "host"))
        every = testbed.Log(t.time[t.sampled], t.rtt[t.sampled], t.rtt[t.sampled])
        return Measured(log, log.cycles(), every)

    @property
    def ratio(self) -> np.ndarray:
        """RTO(i-1)/RTT(i) in steady state, from the second cycle on."""
        return self.log.ratio[self.cycles[1].start : self.cycles[-1].stop]

    def least(self) -> tuple[np.ndarray, np.ndarray]:
        """The least round-trip time of each cycle: of the segments timed, and of all."""
        # From the last sample before the drop on: the shortest queue may be met before the first sample of
        # the cycle.
        spans = [(self.log.time[c.start - 1], self.log.time[c.stop - 1]) for c in self.cycles]
        true = [self.every.rtt[(self.every.time > a) & (self.every.time <= b)].min() for a, b in spans]
        return np.asarray([self.log.rtt[c].min() for c in self.cycles]), np.asarray(true)

    def table(self) -> pa.Table:
        """Its samples."""
        return testbed.table(self.log)


def rows(timer: str) -> Rows:
    """The step-by-step model's last cycle with one sample for each flight."""
    return (
        RowModel(testbed.PACKETS, model.CYCLES, testbed.SERVICE, sampling="once")
        .run(model.ticked(timer, "500ms"))
        .cycle()
    )


ROOMS = (20, 23, 26, 29, 32, 35, 38, 40)
"""Packets that the lines hold whose minima are compared."""


def minima() -> pa.Table:
    """By window and room in the line: how many cycles have a sampled minimum above the true one, and by how
    much (service times).
    """
    found = []
    for window, params in WINDOWS.items():
        stack = testbed.lite().but(
            window=ac.window.Reno(initial_window="segments", initial_segs=1, byte_counting=False, **params)
        )
        for room in ROOMS:
            sampled, true = Measured.of(stack, testbed.line(room=room)).least()
            off = (sampled - true) / testbed.SERVICE
            found.append(
                {
                    "window": window,
                    "packets": room,
                    "cycles": off.size,
                    "missed": int((off > 0.5).sum()),
                    "largest_miss": float(off.max()),
                }
            )
    return pa.Table.from_pylist(found)


@item("E-F11", kind="MODEL, SIM", title="The Lite timer with one sample per round trip", choices=CHOICES)
def reproduce(setting: Setting) -> Outcome:
    """Spikes remain, and nothing collapses."""
    found, modelled = Measured.of(testbed.lite()), rows("lite")
    log, cycles = found.log, found.cycles
    spikes = [float(log.rto[c].max() / log.rto[c.start - 1]) for c in cycles[1:]]
    least = minima()
    cycles_of, missed = (
        {w: sum(r[c] for r in least.to_pylist() if r["window"] == w) for w in WINDOWS}
        for c in ("cycles", "missed")
    )
    checks = [
        within("largest RTT (s)", float(log.rtt.max()), 250.0, 0.02 * 250),
        at_least(
            "RTO_L/RTT, step-by-step model", float(modelled.sampled(modelled.ratio).min()), 1.2, "at least"
        ),
        at_least("RTO_L/RTT, simulated line", float(found.ratio.min()), 1.2, "at least"),
        stated(
            "the timeout rises after the round-trip time drops: spike over the timeout before the drop",
            f"{min(spikes):.4g} to {max(spikes):.4g}",
            min(spikes) > 1,
            "above 1",
        ),
        stated(
            "cycles whose sampled minimum RTT is not the true one",
            f"{missed[AVOIDANCE]} of {cycles_of[AVOIDANCE]}",
            missed[AVOIDANCE] > 0,
            "some",
        ),
    ]
    fig = testbed.figure(
        log,
        cycles,
        "RTO_L",
        "Lite, one sample per round trip",
        f"{testbed.SUBTITLE}, timestamps off",
        shown=4,
    )
    notes = [
        f"Largest RTO_L/RTT: {found.ratio.max():.4g}, in the step-by-step model "
        f"{modelled.sampled(modelled.ratio).max():.4g}.",
        f"Minima are those of lines with room for {', '.join(map(str, ROOMS))} packets. A fast "
        "retransmission ends a timing under way, and the next begins with the first new segment, "
        "which meets the cycle's shortest queue, so that the minimum is always timed.",
        f"With 4.4BSD-Lite's window (E-F8) it is missed in {missed[LITE]} of {cycles_of[LITE]} cycles: "
        "growing by more than a segment each round trip it loses several at once, two fast recoveries "
        "and a timeout follow, and what is retransmitted is not timed. Its cycles do not look like the "
        "paper's.",
    ]
    return Outcome(checks, {"samples": found.table(), "minima": least}, {"rto": fig}, notes)


@item(
    "E-F12",
    kind="MODEL, SIM",
    title="The Eifel timer with one sample per round trip",
    choices={**CHOICES, "gain": "1/3, whatever the load (E-E7)"},
)
def reproduce_eifel(setting: Setting) -> Outcome:
    """No spikes at the end of a cycle, otherwise like the Lite timer."""
    found, modelled = Measured.of(testbed.eifel()), rows("eifel")
    lite, of_lite = Measured.of(testbed.lite()), rows("lite")
    log, cycles = found.log, found.cycles
    highest = [float(r.sampled(r.ratio).max()) for r in (modelled, of_lite)]
    spikes = [float(log.rto[c.start] / log.rto[c.start - 1]) for c in cycles[1:]]
    checks = [
        at_least(
            "RTO_E/RTT, step-by-step model", float(modelled.sampled(modelled.ratio).min()), 1.1, "at least"
        ),
        at_least("RTO_E/RTT, simulated line", float(found.ratio.min()), 1.1, "at least"),
        at_most("largest RTO_E/RTT, step-by-step model", highest[0], highest[1], "below Lite's"),
        at_most(
            "largest RTO_E/RTT, simulated line",
            float(found.ratio.max()),
            float(lite.ratio.max()),
            "below Lite's",
        ),
        stated(
            "no spike where the round-trip time drops: timeout after the drop over that before",
            f"{min(spikes):.4g} to {max(spikes):.4g}",
            max(spikes) <= 1,
            "at most 1",
        ),
    ]
    fig = testbed.figure(
        log,
        cycles,
        "RTO_E",
        "Eifel, one sample per round trip",
        f"{testbed.SUBTITLE}, timestamps off",
        shown=4,
    )
    return Outcome(checks, {"samples": found.table()}, {"rto": fig})
