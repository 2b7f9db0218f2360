from __future__ import annotations

import numpy as np
import pyarrow as pa

import ackclock as ac
from ackclock.plot import Measured, measured
from ackclock.reproduce.interactive2007 import artificial, seen, testbed
from ackclock.reproduce.item import Outcome, Setting, item, stated

LOSSES = tuple(p for p in artificial.SECONDS if p >= 0.035)
KEPT, RESET = "RTO kept", "RTO reset"


def resetting(preset: str = testbed.RENO) -> ac.Stack:
    """The paper's TCP with an RTO of 1 s for each packet anew: no estimate makes it longer, and any new ack
    ends a backoff.
    """
    timer = ac.Rfc6298(
        min_rto=f"{testbed.RTO:g}s", max_rto=f"{testbed.RTO:g}s", initial_rto=f"{testbed.RTO:g}s"
    )
    return testbed.tcp(preset, estimator=timer, karn_backoff=False)


@item(
    "I-X3",
    kind="SIM",
    title="Above 3.5 % the model is too high: is it the RTO that earlier losses left?",
    choices={
        **artificial.CHOICES,
        "loss": f"{', '.join(f'{100 * p:g}' for p in LOSSES)} % of data packets, each by itself; no cross "
        "traffic",
        "duration": "as I-F5b at these losses",
        "reset": f"the timeout before backoff is {testbed.RTO:g} s whatever the estimate, and any new ack "
        "ends a backoff, for both kinds of flow",
        "gap": "model's gain less the simulated one, as a part of the model's",
    },
)
def reproduce(setting: Setting) -> Outcome:
    """The gap between model and simulation with the RTO kept and reset."""
    kept, reset = (
        artificial.measure(setting, "I-X3", LOSSES, stack, share=part)
        for stack, part in ((testbed.tcp(), (0.0, 0.25)), (resetting(), (0.25, 0.5)))
    )
    own = [
        artificial.measure(setting, "I-X3", LOSSES, stack, method=seen.OWN, share=part)
        for stack, part in (
            (testbed.tcp(testbed.SACK), (0.5, 0.75)),
            (resetting(testbed.SACK), (0.75, 1.0)),
        )
    ]
    rows = [{"rto": name, **p.row()} for name, points in ((KEPT, kept), (RESET, reset)) for p in points]
    checks = [
        stated(
            f"loss {100 * a.p:g} %: the gap falls",
            f"{-100 * a.off:.3g} -> {-100 * b.off:.3g} %",
            abs(b.off) < abs(a.off),
        )
        for a, b in zip(kept, reset, strict=True)
        if a.p >= 0.05
    ]
    notes = [
        "SACK, every packet to its own ack: the gap goes from "
        + ", ".join(
            f"{-100 * a.off:.0f} to {-100 * b.off:.0f} % at {100 * a.p:g} %"
            for a, b in zip(*own, strict=True)
        ),
        "reset, the interactive flows wait "
        + ", ".join(f"{100 * (b.latency / a.latency - 1):+.1f} %" for a, b in zip(kept, reset, strict=True))
        + " of what they did, the backlogged flow "
        + ", ".join(
            f"{100 * (b.backlogged_latency / a.backlogged_latency - 1):+.1f} %"
            for a, b in zip(kept, reset, strict=True)
        ),
        "what else there is: timeouts are "
        + ", ".join(f"{100 * r['timeout_share']:.0f}" for r in rows if r["rto"] == RESET)
        + " % of the loss indications, in the model "
        + ", ".join(f"{100 * r['model_timeout_share']:.0f}" for r in rows if r["rto"] == RESET)
        + " %: after a timeout the window is small, and the next loss is a timeout again",
    ]
    p = np.array([x.p for x in kept])
    fine = np.linspace(p.min(), p.max(), 200)
    figure = measured(
        [
            Measured(name, p, np.array([x.gain for x in points]), np.array([x.half for x in points]))
            for name, points in ((KEPT, kept), (RESET, reset))
        ],
        [("model", fine, artificial.smooth_model(fine))],
        title="The gain when no RTO remembers earlier losses",
        subtitle="Artificial random loss, 5 Mbit/s, 12 ms; 95 % bands",
        xlabel="loss ratio",
        ylabel="gain",
    )
    return Outcome(checks, {"points": pa.Table.from_pylist(rows)}, {"gain": figure}, notes)
