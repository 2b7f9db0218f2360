"""Real form of M-X4: the kernel's `reno` over a chain of congested gateways."""

from __future__ import annotations

from typing import Any

import numpy as np
import pyarrow as pa

from ackclock.models import mathis97 as m
from ackclock.plot import Measured, measured
from ackclock.reproduce.item import Outcome, Setting, between
from ackclock.reproduce.mathis97 import gateways, real_phase, steady
from ackclock.reproduce.mathis97 import x4_gateway_shares as x4
from ackclock.reproduce.real_form import KERNEL, TWIN, real_form, together

NUMBERS = (1, 2, 3, 4)
CASES = (x4.SHORT, x4.LONG)
WARM, SECONDS, FULL = 60.0, 240.0, 300.0
LOW, HIGH = 0.7, 1.3


@real_form(
    "M-X4",
    title="Share of the kernel's connection over n congested gateways",
    choices={
        **{key: real_phase.CHOICES[key] for key in ("packets", "twin", "CA events")},
        "kernel": "`reno` with SACK and timestamps, RACK and the kernel's timers, without tail loss probes",
        "topology": "that of the item, n = 1 to 4: RED on lines of 100 ms, drop-tail of 100 packets on lines "
        "of 2 ms, whose senders delay their packets by up to a packet time",
        "duration": f"{SECONDS:g} s after {WARM:g} s that do not count ({FULL:g} s with --full), one seed; "
        "all eight side by side",
    },
)
def chain(setting: Setting) -> Outcome:
    """RED against equation (12), drop-tail reported beside (13)."""
    seconds = FULL if setting.full else SECONDS
    times = {"duration": f"{WARM + seconds:g}s", "measure_from": f"{WARM:g}s"}
    chains = {
        (case, n): gateways.Chain(n, x4.RATE, x4.DELAY[case], x4.queue(case), overhead=case == x4.LONG)
        for case in CASES
        for n in NUMBERS
    }
    scenarios = {key: c.scenario(real_phase.stack()).but(times) for key, c in chains.items()}
    pairs = together(scenarios, setting, "M-X4 real")
    rows: list[dict[str, Any]] = []
    notes: list[str] = []
    for (case, n), pair in pairs.items():
        spans = {
            KERNEL: steady.of_kernel(pair.kernel, real_phase.PAYLOAD),
            TWIN: steady.span(pair.twin),
        }
        for world, span in spans.items():
            row = {"case": case, "world": world, **chains[case, n].measured(span)}
            rows.append(row)
            equation = 12 if case == x4.SHORT else 13
            notes.append(
                f"{case}, n = {n}, {world}: share {row['share']:.4f}, {row['share'] / model(case, n):.2f} of "
                f"equation ({equation}); RTT_0/RTT_i = "
                f"{row['rtt_0'] / row['rtt_i']:.2f}, lines {100 * row['utilisation']:.0f} % busy, "
                f"{row['ca_0']} CA events and {row['timeouts_0']} timeouts, p_0 {row['p_0']:.2g}, p_i "
                f"{row['p_i']:.2g}"
            )
        notes += pair.notes(f"{case}, n = {n}")

    def of(case: str, world: str) -> np.ndarray:
        return np.array([r["share"] for r in rows if (r["case"], r["world"]) == (case, world)])

    n = np.array(NUMBERS, float)
    checks = [
        between(
            f"RED: share over equation (12), n = 1 to {NUMBERS[-1]}",
            of(x4.SHORT, KERNEL) / m.short_queue_share(n),
            LOW,
            HIGH,
        )
    ]
    figure = measured(
        [Measured(f"{case}, {world}", n, of(case, world)) for case in CASES for world in (KERNEL, TWIN)],
        [("equation (12)", n, m.short_queue_share(n)), ("equation (13)", n, m.long_queue_share(n))],
        title="Share that a long path gets of each line, on the kernel and simulated",
        subtitle="One Linux reno connection over n lines of 2 Mbit/s, a local one over each",
        xlabel="n: congested gateways on the way",
        ylabel="share of the line's bandwidth",
        log="y",
    )
    return Outcome(checks, {"shares": pa.Table.from_pylist(rows)}, {"shares": figure}, notes)


def model(case: str, n: int) -> float:
    """The share by the equation of the case."""
    return float(m.short_queue_share(n) if case == x4.SHORT else m.long_queue_share(n))
