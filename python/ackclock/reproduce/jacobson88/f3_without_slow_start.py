from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import pyarrow as pa

import ackclock as ac
from ackclock.plot import sequence
from ackclock.reproduce.item import Outcome, Setting, at_least, between, item
from ackclock.reproduce.jacobson88 import testbed
from ackclock.reproduce.jacobson88.testbed import KB, only_transfer
from ackclock.results.transfer import Transfer

SECONDS = 10.0
"""The part that the paper shows."""
SHARED = testbed.SHARE_DATA * testbed.PACKET / testbed.DATA * 8
"""bit/s of a link that carries 20 KB/s of data."""
ONE_WAY = "100ms"
CHOICES = {
    "available rate": "the paper's 20 KB/s for this conversation, as a link of 176.64 kbit/s: what other "
    "traffic leaves of 230.4 kbit/s",
    "propagation delay": "100 ms one way, with which slow start takes about the paper's 2 s (J-F4)",
    "phase": "conversations that start at 16 moments between two ticks of the 500 ms clock; checks are on "
    "medians, the figure is the median run",
}


@dataclass(frozen=True)
class Start:
    """The first ten seconds of a conversation. used: share of the available rate. resent: share of the
    packets sent. times: most often sent.
    """

    transfer: Transfer
    began: float
    used: float
    resent: float
    times: int


def starts(
    stack: ac.Stack,
    path: ac.Chain,
    available: float,
    *,
    phases: int = 16,
    seconds: float = SECONDS,
    load: list[object] | None = None,
    workers: int | None = None,
) -> list[Start]:
    """Conversations that start at different moments of the 500 ms clock, some seconds into the run."""
    begins = [3.0 + 0.5 * phase / phases for phase in range(phases)]

    def scenario(phase: int, began: float) -> ac.Scenario:
        workload = [ac.Bulk(start=f"{1e3 * began:.0f}ms"), *(load or [])]
        return ac.Scenario.of(
            path,
            workload,
            {"tcp": stack},
            duration=f"{1e3 * (began + seconds):.0f}ms",
            trace=["packets"],
            seed=1 + phase,
        )

    found = []
    for began, run in zip(
        begins, ac.sweep.run_all([scenario(*b) for b in enumerate(begins)], workers=workers), strict=True
    ):
        t = only_transfer(run, "tcp")
        acked = t.acked[-1] if t.acked.size else 0
        found.append(
            Start(
                t,
                began,
                acked / seconds / available,
                t.retransmissions / t.time.size,
                int(t.times_sent()[1].max()),
            )
        )
    return found


def median(found: list[Start]) -> tuple[float, float, float]:
    """The medians of used, resent and times."""
    return tuple(float(np.median([getattr(s, name) for s in found])) for name in ("used", "resent", "times"))


def middle(found: list[Start]) -> Start:
    """The run whose use of the path is the median, or the next lower one."""
    return sorted(found, key=lambda s: (s.used, s.resent))[(len(found) - 1) // 2]


def shifted(s: Start) -> Transfer:
    """Its transfer with time counted from its start."""
    t = s.transfer
    return Transfer(t.time - s.began, t.offset, t.size, t.acked_at - s.began, t.acked)


def readings() -> dict[str, tuple[ac.Stack, ac.Chain, float, list[object]]]:
    """Other readings of what the paper leaves open, one change at a time."""
    old, path, share = testbed.old_tcp(), testbed.one_conversation(ONE_WAY, rate=SHARED), testbed.SHARE_DATA
    rest = ac.Udp(rate=f"{testbed.LINK - SHARED:.0f}bit/s", bytes=f"{testbed.PACKET}B")
    fine = {"timer": ac.timer.RestartOnAck(), "estimator": ac.Rfc793(min_rto="500ms")}
    rows = {
        "as chosen": (old, path, share, []),
        "shortest timeout one tick": (
            old.but(estimator=testbed.old_estimator(min_rto="500ms")),
            path,
            share,
            [],
        ),
        "4.2BSD's table of backoffs": (
            old.but(backoff=ac.backoff.Bsd43Table(release="4.2BSD")),
            path,
            share,
            [],
        ),
        "exact samples, no backoff": (
            old.but(estimator=ac.Rfc793(min_rto="500ms"), backoff="none"),
            path,
            share,
            [],
        ),
        "fine timer, shortest 0.5 s": (old.but(**fine), path, share, []),
        "copies timed as well": (old.but(karn_samples=False), path, share, []),
        "exponential backoff": (old.but(backoff="exponential"), path, share, []),
        "out of order acknowledged at once": (old.but(ack="bsd43"), path, share, []),
        "every packet acknowledged": (old.but(ack="every"), path, share, []),
        "the whole link": (old, testbed.one_conversation(ONE_WAY), testbed.LINK_DATA, []),
        "other traffic as datagrams": (old, testbed.one_conversation(ONE_WAY), share, [rest]),
    }
    for delay in ("10ms", "30ms", "60ms", "150ms"):
        rows[f"{delay} one way"] = (old, testbed.one_conversation(delay, rate=SHARED), share, [])
    return rows


@item(
    "J-F3",
    kind="SIM",
    title="The start of a transfer without slow start",
    choices={**CHOICES, **testbed.OLD_CHOICES},
)
def reproduce(setting: Setting) -> Outcome:
    """Old TCP over the six hops, and what other readings of the unstated give."""
    chosen, workers = (
        (testbed.old_tcp(), testbed.one_conversation(ONE_WAY, rate=SHARED), testbed.SHARE_DATA),
        setting.workers,
    )
    found = starts(*chosen, workers=workers)
    used, resent, times = median(found)
    checks = [
        between("goodput over 10 s, share of the available rate", used, 0.2, 0.5),
        at_least("share of packets that are retransmissions", resent, 0.4, "40 %"),
        at_least("most often sent segment, times", times, 4, "4"),
    ]
    shown = middle(found)
    figure = sequence(
        {"old TCP": shifted(shown)},
        title="The start of a conversation without slow start",
        subtitle="Window 16 KiB, six hops, queue 30 packets, 20 KiB/s available, 100 ms one way, clock 0.5 s",
        available=testbed.SHARE_DATA,
        until=SECONDS,
    )
    minute = median(starts(*chosen, phases=4, seconds=60.0, workers=workers))
    rows, all_readings = [], readings()
    for i, (name, (stack, path, available, load)) in enumerate(all_readings.items()):
        setting.progress(i / len(all_readings), "J-F3")
        u, r, n = median(starts(stack, path, available, phases=8, load=load, workers=workers))
        rows.append({"reading": name, "used": u, "resent": r, "times": n, "goodput_KBps": u * available / KB})
    tables = {
        "readings": pa.Table.from_pylist(rows),
        "phases": pa.table({k: [getattr(s, k) for s in found] for k in ("began", "used", "resent", "times")}),
    }
    notes = [
        f"The run shown sent {shown.transfer.time.size} packets, {shown.transfer.retransmissions} of them "
        "retransmissions; paper: 35 % used, nearly everything sent at least twice, bytes 54 to 58 KB five "
        "times.",
        f"Over the first minute {minute[0] * testbed.SHARE_DATA / KB:.3g} KB/s, {100 * minute[0]:.0f} "
        "%; paper: 7 KB/s, 35 %, however long it runs.",
        *(
            (
                f"{r['reading']}: {100 * r['used']:.0f} % used, {100 * r['resent']:.0f} % of the packets "
                f"resent, up to {r['times']:g} times"
            )
            for r in rows
        ),
    ]
    return Outcome(checks, tables, {"sequence": figure}, notes)
