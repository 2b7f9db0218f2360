from __future__ import annotations

from typing import Any

import numpy as np
import pyarrow as pa
from matplotlib.figure import Figure

import ackclock as ac
from ackclock.plot import style
from ackclock.reproduce.item import Outcome, Setting, at_least, between, item, stated
from ackclock.reproduce.mathis97 import modem, steady

LOSSES = (0, 0.001, 0.003, 0.01, 0.02, 0.03, 0.04, 0.05, 0.06, 0.07, 0.08, 0.1, 0.12, 0.15, 0.2, 0.25, 0.3)
WARM = 200
HARMLESS, FULL = 0.03, 0.95


def rows(setting: Setting) -> list[dict[str, Any]]:
    """A row for each loss, of all seeds together."""
    seeds = range(1, 11 if setting.full else 3)
    seconds = 20_000 if setting.full else 5000
    jobs = {(loss, seed): (modem.modem(loss, seed), WARM, seconds) for loss in LOSSES for seed in seeds}
    spans = steady.each(setting, jobs, "M-F14")
    found = []
    for loss in LOSSES:
        every = [spans[loss, seed].connections["tcp", modem.MODEM] for seed in seeds]

        def total(name: str, every: list[steady.Connection] = every) -> int:
            return sum(getattr(c, name) for c in every)

        rate = float(np.mean([c.rate for c in every]))
        rtt = float(np.average([c.rtt for c in every], weights=[c.segments for c in every]))
        found.append(
            {
                "loss": loss,
                "utilisation": 8 * modem.PACKET * rate / modem.LINE,
                "p": total("ca") / total("segments"),
                "signals": (total("ca") + total("non_ca")) / total("segments"),
                "rtt": rtt,
                "window": rate * rtt,
                "timeouts": total("timeouts"),
            }
        )
    return found


def below(loss: np.ndarray, used: np.ndarray) -> float:
    """Loss at which the use of the line falls below 95 %."""
    some = loss >= 0.01
    return float(np.interp(-FULL, -used[some], loss[some]))


def readings() -> dict[str, dict[str, Any]]:
    """What else the modem user may be: what is changed in its stack."""
    fack = {"limited_transmit": True, "adjustment": "rate-halving"}
    return {
        "as declared": {},
        "acks within 200 ms": {"ack": ac.Delayed()},
        "SACK in place of FACK-RH": {"recovery": ac.recovery.Sack(limited_transmit=False)},
        "FACK-RH that does not round": {"recovery": ac.recovery.Fack(**fack, whole_segs=False)},
        "RFC 6298's timer": {"estimator": ac.Rfc6298(initial_rto="3s"), "timer": ac.timer.RestartOnAck()},
        "timeouts from 200 ms": {
            "estimator": ac.Rfc6298(min_rto="200ms", initial_rto="3s"),
            "timer": ac.timer.RestartOnAck(),
        },
    }


def variants(setting: Setting) -> list[dict[str, Any]]:
    """Signals without loss on the link, and the loss that takes a twentieth of the line, for each reading."""
    stacks = {name: modem.modem_stack().but(**changes) for name, changes in readings().items()}
    losses = [loss for loss in LOSSES if loss == 0 or 0.01 <= loss <= 0.1]
    jobs = {
        loss: (modem.modem(loss, stacks=stacks), WARM, 20_000 if setting.full else 4000) for loss in losses
    }
    spans = steady.each(setting, jobs, "M-F14")
    found = []
    for name in stacks:
        every = [spans[loss].connections[name, modem.MODEM] for loss in losses]
        used = np.array([8 * modem.PACKET * c.rate / modem.LINE for c in every])
        signals = (every[0].ca + every[0].non_ca) / every[0].segments
        found.append(
            {
                "reading": name,
                "signals": signals,
                "below": below(np.array(losses), used),
                "rtt": every[0].rtt,
                "window": every[0].window,
            }
        )
    return found


@item(
    "M-F14",
    kind="SIM",
    title="Modem user against loss on the shared link",
    choices={
        **modem.CHOICES,
        "goodput": f"packets acknowledged, {modem.PACKET} bytes each, over the line's rate",
        "congestion signals": "CA events and the others (timeouts) per acknowledged packet",
        "duration": f"5000 s (20 000 s with --full) after {WARM} s that do not count, 2 (10) seeds together",
        "non-increasing": "to a thousandth: the two ends of the curve are flat",
    },
)
def reproduce(setting: Setting) -> Outcome:
    """Loss from none to 30 %."""
    found = rows(setting)
    loss, used, rtt = (np.array([r[name] for r in found]) for name in ("loss", "utilisation", "rtt"))
    rises = np.diff(rtt) > 1e-3 * rtt[:-1]
    checks = [
        at_least(
            f"goodput over the line's rate with loss up to {100 * HARMLESS:g} %",
            float(used[loss <= HARMLESS].min()),
            FULL,
            "at least",
        ),
        between("congestion signals per packet without loss on the link", found[0]["signals"], 0.03, 0.08),
        stated(
            "the round-trip time does not rise with loss",
            f"from {rtt[0]:.3f} s to {rtt[-1]:.3f} s, rising at {int(rises.sum())} of {rises.size} steps",
            not rises.any(),
        ),
        between("loss at which goodput falls below 95 %", below(loss, used), 0.05, 0.15),
    ]
    notes = [
        (
            f"loss {100 * r['loss']:g} %: goodput {100 * r['utilisation']:.1f} %, signals "
            f"{r['signals']:.4f}, window {r['window']:.2f}, round-trip time {r['rtt']:.3f} s, "
            f"{r['timeouts']} timeouts"
        )
        for r in found
    ]
    tried = variants(setting)
    notes += [
        (
            f"{r['reading']}: signals {r['signals']:.4f} and round-trip time {r['rtt']:.2f} s without loss, "
            f"below 95 % from {100 * r['below']:.1f} % on"
        )
        for r in tried
    ]
    tables = {"losses": pa.Table.from_pylist(found), "readings": pa.Table.from_pylist(tried)}
    return Outcome(checks, tables, {"modem": picture(found)}, notes)


def picture(found: list[dict[str, Any]]) -> Figure:
    """Goodput and round-trip time against loss."""
    fig, axes = style.figure(
        "A modem user does not notice some loss",
        "FACK-RH at 28.8 kbit/s, queue of 5 packets, 400 ms without queue, an ack per packet; dotted: 95 %",
    )
    loss = [100 * r["loss"] for r in found]
    axes.plot(
        loss,
        [100 * r["utilisation"] for r in found],
        marker="o",
        markersize=4,
        label="goodput (% of the line)",
        **style.line(0),
    )
    axes.plot(
        loss,
        [100 * r["signals"] for r in found],
        marker="^",
        markersize=4,
        label="congestion signals (% of packets)",
        **style.line(2),
    )
    axes.axhline(95, color="#999999", linewidth=0.9, linestyle=(0, (2, 2)))
    axes.set(
        xlabel="loss on the shared link (%)",
        ylabel="goodput, congestion signals (%)",
        xlim=(0, 30),
        ylim=(0, 105),
    )
    right = axes.twinx()
    right.plot(
        loss,
        [r["rtt"] for r in found],
        marker="s",
        markersize=4,
        label="round-trip time (s, right)",
        **style.line(1),
    )
    right.set(ylabel="round-trip time (s)", ylim=(0, 2.1))
    right.spines["right"].set_visible(True)
    axes.grid(True)
    handles = [*axes.get_legend_handles_labels()[0], *right.get_legend_handles_labels()[0]]
    axes.legend(
        handles, [h.get_label() for h in handles], loc="upper right", bbox_to_anchor=(1, 0.89), fontsize=9
    )
    return fig
