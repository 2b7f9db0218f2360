from __future__ import annotations

from typing import Any

import numpy as np
import pyarrow as pa
from matplotlib.figure import Figure

import ackclock as ac
from ackclock.models import mathis97 as m
from ackclock.plot import style
from ackclock.reproduce.item import Outcome, Setting, between, item, six_digits
from ackclock.reproduce.mathis97 import modem, scatter, steady

LOSSES = (
    0.0003,
    0.0006,
    0.001,
    0.0013,
    0.0016,
    0.002,
    0.003,
    0.005,
    0.007,
    0.01,
    0.013,
    0.02,
    0.03,
    0.04,
    0.055,
    0.07,
    0.1,
    0.15,
)
TARGET, RTT = 1e6, modem.SHARED / 1e3
C = 0.93
"""Of random loss and delayed acks (M-T1d)."""
C_EVERY = 1.31
"""Of random loss and an ack per packet (M-T1c)."""
FACTOR = 1.6
WARM = 30


def rows(setting: Setting) -> list[dict[str, Any]]:
    """A row for each loss and size of segments."""
    seeds = range(1, 11 if setting.full else 3)
    jobs = {
        (loss, seed): (modem.research(loss, seed=seed), WARM, 5000 if setting.full else 400)
        for loss in LOSSES
        for seed in seeds
    }
    spans = steady.each(setting, jobs, "M-F15")
    found = []
    for mss in modem.SIZES:
        for loss in LOSSES:
            every = [spans[loss, seed].connections[f"{mss} bytes", modem.RESEARCH] for seed in seeds]
            segments = sum(c.segments for c in every)
            found.append(
                {
                    "mss": mss,
                    "loss": loss,
                    "bandwidth": 8 * mss * float(np.mean([c.rate for c in every])),
                    "window": float(np.mean([c.window for c in every])),
                    "p": sum(c.ca for c in every) / segments,
                    "timeouts": sum(c.timeouts for c in every),
                }
            )
    return found


def readings() -> dict[str, tuple[dict[str, Any], float]]:
    """What else the research user may be: what is changed in its stack, and the constant that goes with
    it.
    """
    fine = {"estimator": ac.Rfc6298(min_rto="200ms", initial_rto="3s"), "timer": ac.timer.RestartOnAck()}
    return {
        "as declared": ({}, C),
        "timeouts from 200 ms": (fine, C),
        "an ack per packet": ({"ack": "every"}, C_EVERY),
        "an ack per packet, timeouts from 200 ms": ({"ack": "every", **fine}, C_EVERY),
    }


def variants(setting: Setting) -> list[dict[str, Any]]:
    """Where each reading crosses 1 Mbit/s, over the scaled M-E14."""
    seconds = 2000 if setting.full else 200
    losses = [loss for loss in LOSSES if loss > 5e-4]
    jobs = {
        (name, loss): (modem.research(loss, changes=changes), WARM, seconds)
        for name, (changes, _) in readings().items()
        for loss in losses
    }
    spans = steady.each(setting, jobs, "M-F15")
    found = []
    for name, (_, c) in readings().items():
        for mss in modem.SIZES:
            mine = [
                (loss, span.connections[f"{mss} bytes", modem.RESEARCH])
                for (n, loss), span in spans.items()
                if n == name
            ]
            at = crossing(
                [{"mss": mss, "loss": loss, "bandwidth": 8 * mss * x.rate} for loss, x in mine], mss
            )
            limit = c**2 * float(m.loss_for_rate(TARGET, RTT, mss))
            found.append({"reading": name, "mss": mss, "crossing": at, "over": at / limit})
    return found


def crossing(found: list[dict[str, Any]], mss: int, rate: float = TARGET) -> float:
    """Loss at which the bandwidth falls below `rate`, between the logarithms of the neighbours."""
    mine = [r for r in found if r["mss"] == mss]
    return float(
        np.exp(
            np.interp(
                -np.log(rate), [-np.log(r["bandwidth"]) for r in mine], [np.log(r["loss"]) for r in mine]
            )
        )
    )


@item(
    "M-F15",
    kind="CF, SIM",
    title="Research user against loss on the shared link",
    choices={
        **modem.CHOICES,
        "p": "loss on the link, as in M-E14",
        "C": f"{C:g}, that of random loss and delayed acks (M-T1d): M-E14 is scaled by its square",
        "bandwidth": "payload",
        "duration": f"400 s (5000 s with --full) after {WARM} s that do not count, 2 (10) seeds together",
    },
)
def reproduce(setting: Setting) -> Outcome:
    """Three sizes of segments, loss from 0.03 to 15 %."""
    found = rows(setting)
    limits = np.atleast_1d(m.loss_for_rate(TARGET, RTT, modem.SIZES))
    checks = [
        six_digits(
            "p for 1 Mbit/s at 0.1 s, 536, 1460, 4312 bytes (M-E14)",
            limits,
            [0.00183869, 0.0136422, 0.118997],
        )
    ]
    for mss, limit in zip(modem.SIZES, limits, strict=True):
        expected = C**2 * float(limit)
        checks.append(
            between(
                f"loss at which {mss} bytes fall below 1 Mbit/s, over C^2 p",
                crossing(found, mss) / expected,
                1 / FACTOR,
                FACTOR,
            )
        )
    notes = [
        f"{mss} bytes: 1 Mbit/s up to a loss of {100 * crossing(found, mss):.3g} %, M-E14 {100 * limit:.3g} %"
        for mss, limit in zip(modem.SIZES, limits, strict=True)
    ]
    at = next(r for r in found if (r["mss"], r["loss"]) == (536, 0.03))
    notes.append(
        f"3 % loss, 536 bytes: window {at['window']:.2f}, {at['bandwidth'] / 1e3:.0f} kbit/s, "
        f"{at['timeouts']} timeouts (the paper: 5, about 250)"
    )
    tried = variants(setting)
    for name in readings():
        over = ", ".join(f"{r['over']:.2f}" for r in tried if r["reading"] == name)
        notes.append(
            f"{name}: loss at the crossing over C^2 p, {', '.join(map(str, modem.SIZES))} bytes: {over}"
        )
    tables = {"losses": pa.Table.from_pylist(found), "readings": pa.Table.from_pylist(tried)}
    return Outcome(checks, tables, {"research": picture(found)}, notes)


def picture(found: list[dict[str, Any]]) -> Figure:
    """Bandwidths against loss on logarithmic axes, beside equation (3)."""
    fig, axes = scatter.figure(
        "Loss that a modem user does not notice is fatal to a research user",
        "By segment size; round-trip time 100 ms, delayed acks; open markers: runs with timeouts",
        "loss on the shared link",
        "bandwidth (Mbit/s)",
    )
    for i, mss in enumerate(modem.SIZES):
        mine = [r for r in found if r["mss"] == mss]
        p = np.array([r["loss"] for r in mine])
        axes.plot(p, m.bandwidth(p, RTT, mss, C) / 1e6, color=style.COLOURS[i], linewidth=1.1)
        scatter.points(
            axes, i, f"{mss} bytes", p, [r["bandwidth"] / 1e6 for r in mine], [r["timeouts"] for r in mine]
        )
    axes.plot([], [], color="#555555", linewidth=1.1, label=f"equation (3), C = {C:g}")
    axes.axhline(1, color="#999999", linewidth=1, linestyle=(0, (2, 2)))
    scatter.plain(axes.yaxis, [0.01, 0.03, 0.1, 0.3, 1, 3, 10])
    scatter.plain(axes.xaxis, [0.0003, 0.001, 0.003, 0.01, 0.03, 0.1])
    axes.legend(loc="lower left", fontsize=9)
    return fig
