from __future__ import annotations

import itertools

import pyarrow as pa

import ackclock as ac
from ackclock.plot import sequence
from ackclock.reproduce.item import Outcome, Setting, at_least, between, exactly, item
from ackclock.reproduce.jacobson88 import four, testbed
from ackclock.reproduce.jacobson88.four import MIX, RECEIVER_CHOICE, Totals, listed
from ackclock.reproduce.jacobson88.receivers import Effect, burst, packets_per_ack
from ackclock.reproduce.jacobson88.testbed import KB

DELAYS = (10, 20, 30, 40, 50)
"""One-way delays (ms) that the register offers."""
ORDERS = sorted(set(itertools.permutations(MIX)))
"""Which connections have the old receivers: six ways."""
PAPER_SPEED, PAPER_LOSS = 1.8, 3.6


def readings() -> dict[str, dict[str, object]]:
    """Other readings of what the paper leaves open, as arguments of `effects`."""
    tahoe = ac.recovery.Tahoe(limited_transmit=False, go_back_n=False)
    reno = ac.recovery.Reno(limited_transmit=False)
    window = {"initial_window": "segments", "initial_segs": 1, "byte_counting": True}
    avoidance, both = ac.window.Reno(**window, limit_segs=1), ac.window.Reno(**window, limit_segs=1000)
    own_clock = ac.Bsd43(hold_out_of_order=True, free_running=False)
    return {
        "as chosen": {},
        "out of order acknowledged at once": {"old_ack": ac.Bsd43()},
        "an ack timer for each connection": {"old_ack": own_clock},
        "fast retransmit (one segment, then slow start)": {"recovery": tahoe},
        "fast retransmit, an ack timer for each connection": {"recovery": tahoe, "old_ack": own_clock},
        "fast recovery": {"recovery": reno},
        "fine timer (J-A4)": {"estimator": "jacobson88", "timer": ac.timer.RestartOnAck()},
        "avoidance by bytes acknowledged": {"window": avoidance},
        "all growth by bytes acknowledged": {"window": both},
        "growth by bytes, fast retransmit": {"window": both, "recovery": tahoe},
        "growth by bytes, fast retransmit, own ack timers": {"window": both, "recovery": tahoe, "old_ack": own_clock},
        "avoidance by bytes, fast retransmit, own ack timers": {"window": avoidance, "recovery": tahoe, "old_ack": own_clock},
        "old receivers 100 ms farther": {"farther": 100},
        "old receivers 400 ms farther": {"farther": 400},
        "senders' Ethernet of 1 Mbit/s": {"senders": "1Mbit/s"},
        "all start together": {"stagger": 0.0},
        "starts 10 s apart": {"stagger": 10.0},
    }


def effects(
    *, old_ack: object = None, farther: int = 0, senders: str = "10Mbit/s", stagger: float = 3.0, delays: tuple[int, ...] = DELAYS, **changes: object
) -> list[Effect]:
    """The four conversations over each delay, with the old receivers at each place."""
    stacks = four.receivers(**changes)
    if old_ack is not None:
        stacks["4.3BSD"] = stacks["4.3BSD"].but(ack=old_ack)
    found = []
    for delay, order in itertools.product(delays, ORDERS):
        rtts = [f"{2 * delay + (farther if label == '4.3BSD' else 0)}ms" for label in order] if farther else None
        path = testbed.four_conversations(f"{delay}ms", senders=senders)
        found.append(Effect.of(testbed.converse(path, stacks, order, stagger=stagger, rtts=rtts)))
    return found


@item("J-F9", kind="SIM", title="Four TCPs with congestion avoidance", choices={**four.CHOICES, **testbed.NEW_CHOICES, **RECEIVER_CHOICE})
def reproduce(setting: Setting) -> Outcome:
    """Four new TCPs, two with old receivers; and where the paper's effect of the receiver lies among other readings."""
    runs = {delay: four.new_run(delay) for delay in DELAYS}
    totals = {delay: Totals.of(run, 400) for delay, run in runs.items()}
    run, shown = runs[four.SHOWN], totals[four.SHOWN]
    link = testbed.LINK_DATA / KB
    steady = [delivered_share(r) for r in runs.values()]
    checks = [
        between("share of packets that are retransmissions, delays of 10 to 50 ms", [t.share for t in totals.values()], 0.003, 0.03),
        at_least("delivered over what the link carries, from 25 s to the first end", min(steady), 0.95, "95 %"),
        exactly("packets sent less retransmissions", [t.sent - t.resent for t in totals.values()], [4 * 2048] * len(totals)),
    ]
    figure = sequence(
        {f"{name} to {label}": t for (name, t), label in zip(testbed.connections(run).items(), MIX, strict=True)},
        title="Four conversations with congestion avoidance",
        subtitle=four.SUBTITLE,
        available=testbed.LINK_DATA / 4,
        until=shown.seconds,
    )
    rows = []
    cases = readings()
    for i, (name, changes) in enumerate(cases.items()):
        setting.progress(i / len(cases), "J-F9")
        rows.append({"reading": name, **Effect.summary(effects(delays=DELAYS if setting.full else (10, 30, 50), **changes))})
    speeds, losses = [r["speed"] for r in rows], [r["loss_ratio"] for r in rows]
    notes = [
        f"The run shown: {shown.resent} of {shown.sent} packets again (paper: 89 of 8281); rates {listed(shown.rates)} KB/s, sum while all run "
        f"{link * delivered_share(run):.1f} (paper: 8, 8, 4.5, 4.5, sum 25).",
        "Packets per ack: "
        + ", ".join(f"{packets_per_ack(run, n):.1f}" for n in range(4))
        + f" for receivers {', '.join(MIX)}; packets sent back to back, weighted: "
        + ", ".join(f"{burst(t):.1f}" for t in testbed.connections(run).values())
        + " (paper: bursts of 5-7 and of at most 2).",
        *(Effect.line(r) for r in rows),
        f"Speed of the new receivers over that of the old: medians {min(speeds):.2f} to {max(speeds):.2f}; paper {PAPER_SPEED}, which lies within "
        f"the spread of single runs in {sum(r['speed_max'] >= PAPER_SPEED for r in rows)} of {len(rows)} readings.",
        f"Loss of the old receivers over that of the new: {min(losses):.2f} to {max(losses):.2f}; paper {PAPER_LOSS}, which single runs reach in "
        f"{sum(r['loss_reached'] > 0 for r in rows)} readings. It is the higher, the more a window's growth makes up for missing acks.",
    ]
    return Outcome(checks, {"readings": pa.Table.from_pylist(rows), "flows": run.flows}, {"sequence": figure}, notes)


def delivered_share(run: object) -> float:
    """Data newly acknowledged over what the link carries, while all four conversations run and the first 25 s are over."""
    found = testbed.connections(run).values()
    until = min(t.acked_at[-1] for t in found)
    done = sum(t.acked_bytes[(t.acked_at >= 25) & (t.acked_at < until)].sum() for t in found)
    return float(done / (until - 25) / testbed.LINK_DATA)
