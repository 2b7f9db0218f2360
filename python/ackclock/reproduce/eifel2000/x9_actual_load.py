from __future__ import annotations

import numpy as np
import pyarrow as pa

import ackclock as ac
from ackclock.models.eifel2000 import RowModel, exact
from ackclock.plot import timers as draw
from ackclock.reproduce.eifel2000 import model, testbed
from ackclock.reproduce.item import Outcome, Setting, at_least, exactly, item, six_digits

LOADS = (10, 26, 40)
RULES = {"load": "the actual load", "lower-bound": "E-E6"}
LEGEND = {"E-E6": "its lower bound (the paper)"}
SPIKES = {"load": [4, 12, 19], "lower-bound": [0, 0, 0]}
LARGEST = {
    "load": [1.60449, 1.62689, 1.61601],
    "lower-bound": [0.647381, 0.502324, 0.486743],
}
TOP = {"load": [20.5319, 60.2128, 94.8398], "lower-bound": [14.8553, 38.9204, 59.8920]}
SECONDS = 25_000


@item(
    "E-X9",
    kind="MODEL, SIM",
    title="FLIGHT as the actual load makes the timeout noisy",
    choices={
        **model.CHOICES,
        **testbed.CHOICES,
        "spike": "the timeout rises by more than one service time from one sample to the next",
        "timed": "every segment; in the simulated testbed by timestamps",
        "spikes for each cycle, simulated": "those between the first and the last drop of the round-trip "
        "time, the samples before and after a silence not compared; at least one is counted for E-E6, so "
        "that twice as many means something",
    },
)
def reproduce(setting: Setting) -> Outcome:
    """The step-by-step model for three loads, and the testbed with losses."""
    checks, rows, shown = [], [], {}
    for rule, words in RULES.items():
        # The rise into a cycle's first row counts to that cycle.
        rises = {n: rise_of_cycle(n, rule) for n in LOADS}
        tops = {n: model.steady("eifel", n, flight=rule).rto.max() for n in LOADS}
        checks += [
            exactly(
                f"{words}: spikes of a cycle, loads 10, 26, 40",
                [int((r > 1).sum()) for r in rises.values()],
                SPIKES[rule],
            ),
            six_digits(
                f"{words}: largest rise, service times", [r.max() for r in rises.values()], LARGEST[rule]
            ),
            six_digits(f"{words}: largest RTO of a cycle (s)", list(tops.values()), TOP[rule]),
        ]
        rows += [
            {"flight": rule, "load": n, "spikes": int((rises[n] > 1).sum()), "largest": rises[n].max()}
            for n in LOADS
        ]
        shown[words] = model.steady("eifel", LOADS[0], flight=rule)
    measured = simulated()
    checks.append(
        at_least(
            "simulated testbed: spikes of a cycle with the actual load",
            measured["load"][0],
            2 * max(measured["lower-bound"][0], 1.0),
            "twice as many as with E-E6, of which one at least",
        )
    )
    first = shown[RULES["load"]]
    fig = draw(
        first.series["time"] - first.series["time"][0],
        first.rtt,
        {f"RTO_E (Eifel), {LEGEND.get(words, words)}": r.rto for words, r in shown.items()},
        title="The timeout if FLIGHT is what is outstanding",
        subtitle="Step-by-step model, one cycle of a largest load of 10, service time 1 s",
    )
    notes = [
        f"simulated testbed, FLIGHT is {RULES[rule]}: {spikes:.1f} spikes for each cycle over {n} cycles, "
        f"largest rise {top:.2f} service times"
        for rule, (spikes, n, top) in measured.items()
    ]
    return Outcome(checks, {"rises": pa.Table.from_pylist(rows)}, {"rto": fig}, notes)


def rise_of_cycle(load: int, rule: str) -> np.ndarray:
    """By how much the timeout rises to each row of a cycle in steady state, service times."""
    rows = RowModel(load, model.CYCLES).run(exact("eifel", flight=rule))
    return np.diff(rows.rto)[-rows.model.cycle_rows :]


def simulated() -> dict[str, tuple[float, int, float]]:
    """Spikes for each cycle, the number of cycles, and the largest rise (service times) in the testbed, for
    both definitions.
    """
    stacks = {
        rule: testbed.sender(
            ac.estimator.Eifel(tick="500ms", rounded=True, max_rto="1h", flight=rule),
            ac.timer.Precise(heartbeat="500ms"),
            timestamps=True,
        )
        for rule in RULES
    }
    run = testbed.transfer(testbed.line(), stacks, SECONDS)
    found = {}
    for rule in RULES:
        log = testbed.Log.of(run, rule)
        cycles = log.cycles()
        rises = [np.diff(log.rto[c]) / testbed.SERVICE for c in cycles]
        spikes = sum(int((r > 1).sum()) for r in rises)
        found[rule] = (spikes / len(cycles), len(cycles), float(max(r.max() for r in rises)))
    return found
