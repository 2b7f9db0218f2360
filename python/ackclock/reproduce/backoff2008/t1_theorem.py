from __future__ import annotations

import numpy as np
import pyarrow as pa

from ackclock.models.backoff2008 import (
    Retransmitters,
    required_exponent,
    response_time_with_backoff,
    response_time_without_backoff,
    retransmission_loss,
)
from ackclock.reproduce.item import Check, Outcome, Setting, exactly, item, within
from ackclock.scenario import variation

CASES = 10_000
MODELLED = 8
"""Cases that are simulated as well."""


def random_case(rng: np.random.Generator) -> tuple[np.ndarray, np.ndarray, float]:
    """Timeouts (s), files (packets) and a capacity (packets/s) that they exceed."""
    flows = int(rng.integers(1, 60))
    rto = np.exp(rng.uniform(np.log(0.05), np.log(20.0), flows))
    packets = rng.integers(1, 5000, flows)
    return rto, packets, float((1 / rto).sum() * rng.uniform(0.01, 0.9999))


def property_holds(cases: int = CASES) -> tuple[Check, float]:
    """r' >= r for whole k and equality for real k over random cases, and the largest r'/r met."""
    rng, kept, largest = np.random.default_rng(variation.seed(21)), 0, 0.0
    for _ in range(cases):
        rto, packets, capacity = random_case(rng)
        r, k = response_time_without_backoff(packets, rto, capacity), required_exponent(rto, capacity)
        real, whole = (
            response_time_with_backoff(packets, rto, k),
            response_time_with_backoff(packets, rto, np.ceil(k)),
        )
        kept += bool(np.allclose(real, r, rtol=1e-12) and (whole >= r * (1 - 1e-12)).all())
        largest = max(largest, float((whole / r).max()))
    return Check(
        "r' = r for real k, r' >= r for whole k",
        f"{cases} of {cases} cases",
        f"{kept} of {cases} cases",
        kept == cases,
    ), largest


def modelled(setting: Setting) -> list[dict[str, float]]:
    """Formula and model of random cases: response times, added over the flows of a case, without and with
    backoff.
    """
    rng, rows = np.random.default_rng(variation.seed(2008)), []
    target = 2_000_000 if setting.full else 200_000
    for case in range(MODELLED):
        flows = int(rng.integers(5, 40))
        rto, packets = np.exp(rng.uniform(np.log(0.2), np.log(3.0), flows)), rng.integers(5, 40, flows)
        offered = float((1 / rto).sum())
        capacity = offered * float(rng.uniform(0.2, 0.9))
        model = Retransmitters(
            tuple(rto), tuple(int(n) for n in packets), capacity, seed=variation.seed(2008)
        )
        k = float(np.ceil(required_exponent(rto, capacity)))
        without, loss = model.run(target / offered)
        # Backed off, the same number of packets takes 2^k times as long.
        backed, _ = model.run(target / offered * 2**k, k)
        closed, closed_backed = (
            response_time_without_backoff(packets, rto, capacity),
            response_time_with_backoff(packets, rto, k),
        )
        rows.append(
            {
                "flows": flows,
                "loss": loss,
                "loss_closed": float(retransmission_loss(rto, capacity)),
                "k": k,
                "r": float(without.mean()),
                "r_closed": float(closed.mean()),
                "backed": float(backed.mean()),
                "backed_closed": float(closed_backed.mean()),
            }
        )
        setting.progress((case + 1) / MODELLED, "B-T1")
    return rows


@item(
    "B-T1",
    kind="CF, MODEL",
    title="Theorem 2.1: no file is slower without backoff",
    choices={
        "random cases": f"{CASES}: 1 to 59 flows, timeouts of 50 ms to 20 s, files of 1 to 4999 packets, "
        "capacities of 1 % of the load and more",
        "model": f"{MODELLED} cases with 5 to 39 flows over a drop-tail server of 200 packets, waits "
        "exponential with the timeout for a mean",
        "length of the model": "200,000 packets a case (2,000,000 with --full)",
        "k of the model": "the whole number above equation (5)'s, as doubling has it",
    },
)
def reproduce(setting: Setting) -> Outcome:
    """The formulas on random cases, and a model of their assumptions on some."""
    holds, largest = property_holds()
    rows = modelled(setting)
    pairs = [("r", "r_closed"), ("backed", "backed_closed")]
    off = [abs(row[got] / row[closed] - 1) for row in rows for got, closed in pairs] + [
        abs(row["loss"] - row["loss_closed"]) for row in rows
    ]
    checks = [
        holds,
        within("model over formula, farthest of the cases (%)", 100 * max(off), 0.0, 5.0),
        exactly(
            "modelled cases in which backoff is no faster",
            sum(row["backed"] >= row["r"] * 0.99 for row in rows),
            MODELLED,
        ),
    ]
    notes = [f"largest r'/r of the random cases: {largest:.3f}; with whole k it never exceeds 2"]
    notes += [
        (
            f"{row['flows']:.0f} flows: loss {row['loss']:.4f} ({row['loss_closed']:.4f} by equation 1), r "
            f"{row['r']:.4g} s ({row['r_closed']:.4g}), with backoff {row['backed']:.4g} s "
            f"({row['backed_closed']:.4g}, k = {row['k']:.0f})"
        )
        for row in rows
    ]
    return Outcome(checks, {"cases": pa.Table.from_pylist(rows)}, notes=notes)
