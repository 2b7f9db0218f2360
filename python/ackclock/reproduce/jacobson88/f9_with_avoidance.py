from __future__ import annotations

import itertools
from collections.abc import Collection

import numpy as np
import pyarrow as pa

import ackclock as ac
from ackclock.plot import sequence
from ackclock.reproduce.item import Outcome, Setting, at_least, between, exactly, item
from ackclock.reproduce.jacobson88 import four, testbed
from ackclock.reproduce.jacobson88.four import MIX, RECEIVER_CHOICE, Totals, listed
from ackclock.reproduce.jacobson88.receivers import Effect, burst, packets_per_ack, where
from ackclock.reproduce.jacobson88.testbed import KB
from ackclock.results.transfer import Transfer

DELAYS = four.DELAYS
"""One-way delays (ms) of the register's set, over which medians are taken."""
SPEED, LOSS = (1.5, 2.1), (2.2, 6.0)
"""Between which the register has the speed of the new receivers over that of the old, and the loss of the old
over that of the new.
"""
ORDERS = sorted(set(itertools.permutations(MIX)))
"""Which connections have the old receivers: six ways."""
PAPER_SPEED, PAPER_LOSS = 1.8, 3.6


def axes() -> list[dict[str, dict[str, object]]]:
    """What the paper leaves open, each with its readings as arguments of `effects`; the first one is the
    choice made.
    """
    window = {"initial_window": "segments", "initial_segs": 1, "byte_counting": True}
    avoidance, both = ac.window.Reno(**window, limit_segs=1), ac.window.Reno(**window, limit_segs=1000)
    return [
        {
            "timeouts only": {},
            "fast retransmit": {"recovery": ac.recovery.Tahoe(limited_transmit=False, go_back_n=False)},
            "fast recovery": {"recovery": ac.recovery.Reno(limited_transmit=False)},
            "fast recovery as NewReno's": {"recovery": ac.recovery.Newreno(limited_transmit=False)},
        },
        {
            "growth by acks": {},
            "avoidance by bytes": {"window": avoidance},
            "growth by bytes": {"window": both},
        },
        {
            "acks out of order held": {},
            "acks out of order at once": {"old_ack": ac.Bsd43()},
            "an ack timer for each connection": {
                "old_ack": ac.Bsd43(hold_out_of_order=True, free_running=False)
            },
        },
        {
            "receivers as near": {},
            "old receivers 100 ms farther": {"farther": 100},
            "old receivers 400 ms farther": {"farther": 400},
        },
    ]


OTHERS = {
    "fine timer (J-A4)": {"estimator": "jacobson88", "timer": ac.timer.RestartOnAck()},
    "senders' Ethernet of 1 Mbit/s": {"senders": "1Mbit/s"},
    "all start together": {"stagger": 0.0},
    "starts 10 s apart": {"stagger": 10.0},
}


def readings(full: bool) -> dict[str, dict[str, object]]:
    """Readings by name: each departure from the choices alone, those that together come nearest to the paper,
    and with `full` all combinations.
    """
    found = {}
    for cell in itertools.product(*(axis.items() for axis in axes())):
        departures = [name for (name, _), axis in zip(cell, axes(), strict=True) if name != next(iter(axis))]
        near = [name for name, _ in cell][:3] == [
            "fast recovery as NewReno's",
            "growth by bytes",
            "an ack timer for each connection",
        ]
        if full or len(departures) < 2 or near:
            found[", ".join(departures) or "as chosen"] = {
                key: value for _, changes in cell for key, value in changes.items()
            }
    return {**found, **OTHERS}


def distance(row: dict[str, float]) -> float:
    """How far a reading's two ratios lie from the paper's, in logarithms."""
    return float(
        np.hypot(np.log(row["speed"] / PAPER_SPEED), np.log(max(row["loss_ratio"], 1e-3) / PAPER_LOSS))
    )


def effects(
    *,
    old_ack: object = None,
    farther: int = 0,
    senders: str = "10Mbit/s",
    stagger: float = 3.0,
    delays: tuple[int, ...] = DELAYS,
    workers: int | None = None,
    **changes: object,
) -> list[Effect]:
    """The four conversations over each delay, with the old receivers at each place."""
    stacks = four.receivers(**changes)
    if old_ack is not None:
        stacks["4.3BSD"] = stacks["4.3BSD"].but(ack=old_ack)
    wanted = []
    for delay, order in itertools.product(delays, ORDERS):
        rtts = (
            [f"{2 * delay + (farther if label == '4.3BSD' else 0)}ms" for label in order] if farther else None
        )
        path = testbed.four_conversations(f"{delay}ms", senders=senders)
        wanted.append(testbed.conversations(path, stacks, order, stagger=stagger, rtts=rtts))
    return [Effect.of(run) for run in ac.sweep.run_all(wanted, workers=workers)]


def over_delays(found: list[Effect]) -> tuple[float, float]:
    """The medians over the delays of both ratios. found: each place of the old receivers at each delay."""
    by_delay = [found[i : i + len(ORDERS)] for i in range(0, len(found), len(ORDERS))]
    rows = [Effect.summary(group) for group in by_delay]
    return tuple(float(np.median([r[name] for r in rows])) for name in ("speed", "loss_ratio"))


@item(
    "J-F9",
    kind="SIM",
    title="Four TCPs with congestion avoidance",
    choices={
        **four.CHOICES,
        **testbed.NEW_CHOICES,
        **RECEIVER_CHOICE,
        "receiver effect": "at each one-way delay the median speed and the mean losses over the six ways of "
        "placing two old receivers; then the median over the delays of 10 to 80 ms",
    },
)
def reproduce(setting: Setting) -> Outcome:
    """Four new TCPs, two with old receivers; and where the paper's effect of the receiver lies among other
    readings.
    """
    runs = dict(
        zip(
            DELAYS,
            ac.sweep.run_all([four.new(delay) for delay in DELAYS], workers=setting.workers),
            strict=True,
        )
    )
    totals = {delay: Totals.of(run, 400) for delay, run in runs.items()}
    run, shown = runs[four.SHOWN], totals[four.SHOWN]
    link = testbed.LINK_DATA / KB
    steady = [delivered_share(r) for r in runs.values()]
    checks = [
        between(
            "share of packets that are retransmissions, delays of 10 to 80 ms",
            [t.share for t in totals.values()],
            0.003,
            0.03,
        ),
        at_least(
            "delivered over what the link carries, from 25 s to the first end", min(steady), 0.95, "95 %"
        ),
        exactly(
            "packets sent less retransmissions",
            [t.sent - t.resent for t in totals.values()],
            [4 * 2048] * len(totals),
        ),
    ]
    speed, loss = over_delays(effects(workers=setting.workers))
    checks += [
        between("speed of the new receivers over the old, median over the delays", speed, *SPEED),
        between("loss of the old receivers over the new, median over the delays", loss, *LOSS),
    ]
    figure = sequence(
        {
            f"{name.replace('connection', 'TCP')} to {label}": t
            for (name, t), label in zip(testbed.connections(run).items(), MIX, strict=True)
        },
        title="Four conversations with congestion avoidance",
        subtitle=four.SUBTITLE,
        available=testbed.LINK_DATA / 4,
        until=shown.seconds,
    )
    rows = []
    cases = readings(setting.full)
    for i, (name, changes) in enumerate(cases.items()):
        setting.progress(i / len(cases), "J-F9")
        delays = DELAYS if setting.full else (10, 30, 50)
        rows.append(
            {"reading": name, **Effect.summary(effects(delays=delays, workers=setting.workers, **changes))}
        )
    speeds, losses = [r["speed"] for r in rows], [r["loss_ratio"] for r in rows]
    nearest = min(rows, key=distance)
    marked = {
        "as chosen (bars: single runs)": rows[0],
        "nearest to the paper": nearest,
    }
    field = where(
        rows,
        marked,
        (PAPER_SPEED, PAPER_LOSS),
        "Each dot is a reading of what the paper leaves open: the median speed and mean loss of its runs",
    )
    notes = [
        f"The run shown: {shown.resent} of {shown.sent} packets retransmitted (paper: 89 of 8281); rates "
        f"{listed(shown.rates)} KB/s, sum while all run {link * delivered_share(run):.1f} (paper: 8, "
        "8, 4.5, 4.5, sum 25).",
        "Packets per ack: "
        + ", ".join(f"{packets_per_ack(run, n):.1f}" for n in range(4))
        + f" for receivers {', '.join(MIX)}; packets sent back to back, weighted: "
        + ", ".join(f"{burst(t):.1f}" for t in testbed.connections(run).values())
        + " (paper: bursts of 5-7 and of at most 2).",
        *(Effect.line(r) for r in (sorted(rows, key=distance)[:12] if setting.full else rows)),
        f"Speed of the new receivers over that of the old: medians {min(speeds):.2f} to "
        f"{max(speeds):.2f}; paper {PAPER_SPEED}, which lies within the spread of single runs in "
        f"{sum(r['speed_max'] >= PAPER_SPEED for r in rows)} of {len(rows)} readings.",
        f"Loss of the old receivers over that of the new: {min(losses):.2f} to {max(losses):.2f}; "
        f"paper {PAPER_LOSS}, which single runs reach in {sum(r['loss_reached'] > 0 for r in rows)} "
        "readings.",
        f"Nearest to the paper in both, {nearest['reading']}: speed {nearest['speed']:.2f}, loss "
        f"{100 * nearest['loss_old']:.1f} % against {100 * nearest['loss_new']:.1f} % (paper: 1.8 % "
        f"against 0.5 %), {nearest['loss_ratio']:.2f} times.",
        "The effect needs several things at once: windows that grow by packets rather than by acks, a "
        "recovery that does not stop for a timeout, and old receivers that are farther away. Bursts "
        "alone do not make it.",
    ]
    return Outcome(
        checks,
        {"readings": pa.Table.from_pylist(rows), "flows": run.flows},
        {"sequence": figure, "receivers": field},
        notes,
    )


def delivered_share(run: object) -> float:
    """Data newly acknowledged over what the link carries, while all four conversations run and the first 25 s
    are over.
    """
    return share_of(testbed.connections(run).values())


def share_of(found: Collection[Transfer]) -> float:
    """The same from the transfers."""
    until = min(t.acked_at[-1] for t in found)
    done = sum(t.acked_bytes[(t.acked_at >= 25) & (t.acked_at < until)].sum() for t in found)
    return float(done / (until - 25) / testbed.LINK_DATA)
