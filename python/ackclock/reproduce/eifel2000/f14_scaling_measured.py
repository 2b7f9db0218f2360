from __future__ import annotations

import itertools

import numpy as np

from ackclock.models.eifel2000 import RowModel
from ackclock.reproduce.eifel2000 import model, testbed
from ackclock.reproduce.item import Outcome, Setting, at_least, at_most, between, item

SECONDS = 25_000


@item(
    "E-F14",
    kind="SIM",
    title="The Eifel timer's timeout scales with the load, with real losses",
    choices={
        **testbed.CHOICES,
        "samples": "every segment, by timestamps; compared in seconds, the sample exact and the timeout "
        "made of whole ticks",
        "comparison": "a measured cycle is stretched to the model's rows (load 40, tick 500 ms), as its "
        "flights are longer by a segment or two",
    },
)
def reproduce(setting: Setting) -> Outcome:
    """The sender's own log over some cycles, beside the step-by-step model of E-F7."""
    run = testbed.transfer(testbed.line(), {"Eifel": testbed.eifel(timestamps=True)}, SECONDS)
    log = testbed.Log.of(run, "Eifel")
    cycles = log.cycles()
    rows = (
        RowModel(testbed.PACKETS, model.CYCLES, testbed.SERVICE).run(model.ticked("eifel", "500ms")).cycle()
    )
    # The first cycle still remembers the start of the transfer.
    off = [np.abs(testbed.stretched(log.ratio[c], rows.rtt.size) / rows.ratio - 1) for c in cycles[1:]]
    gaps = [float(log.time[b.start] - log.time[a.stop - 1]) for a, b in itertools.pairwise(cycles)]
    after = [log.ratio[c][log.rtt[c] > 1.01 * log.rtt[c].min()] for c in cycles[1:]]
    checks = [
        at_most(
            "RTO_E/RTT against E-F7's outside the gaps, largest difference",
            float(max(o.max() for o in off)),
            0.1,
            "at most",
        ),
        at_least(
            "shortest gap without samples after a cycle, in service times",
            min(gaps) / testbed.SERVICE,
            20.0,
            "at least half of a full queue",
        ),
        between(
            "coefficient of variation of RTO_E/RTT after the first flight (E-F7)",
            [r.std() / r.mean() for r in after],
            0.0,
            0.10,
        ),
    ]
    fig = testbed.figure(
        log,
        cycles,
        "RTO_E",
        "A timeout that scales with the load, with real losses",
        f"{testbed.SUBTITLE}, every segment timed",
    )
    flow = run.flows.to_pylist()[0]
    notes = [
        f"RTO_E/RTT after the first flight: mean {np.mean(np.concatenate(after)):.4g}, "
        f"{np.min(np.concatenate(after)):.4g} to {np.max(np.concatenate(after)):.4g}.",
        f"{flow['fast_recoveries']} fast recoveries; {flow['timeouts']} timeouts, at the start, where "
        "RTTs grow from the handshake's 0.5 s to 6 s.",
    ]
    return Outcome(checks, {"samples": testbed.table(log)}, {"rto": fig}, notes)
