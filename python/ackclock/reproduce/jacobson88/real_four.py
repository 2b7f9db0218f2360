"""Real forms of J-F8 to J-F12: four conversations of the engine's old and new TCP in real time, and of the
kernel's `reno`.
"""

from __future__ import annotations

import itertools
import tempfile
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

import ackclock as ac
from ackclock.plot import rates, sequence
from ackclock.reproduce import real_flows
from ackclock.reproduce.item import Check, Outcome, Setting, at_least, between, exactly
from ackclock.reproduce.jacobson88 import f8_without_avoidance as f8
from ackclock.reproduce.jacobson88 import f9_with_avoidance as f9
from ackclock.reproduce.jacobson88 import f10_bandwidth_sent as f10
from ackclock.reproduce.jacobson88 import f11_bandwidth_delivered as f11
from ackclock.reproduce.jacobson88 import f12_window_adjustment as f12
from ackclock.reproduce.jacobson88 import four, testbed
from ackclock.reproduce.jacobson88.four import MIX, Totals, listed
from ackclock.reproduce.jacobson88.receivers import Effect
from ackclock.reproduce.jacobson88.testbed import KB
from ackclock.reproduce.real_flows import ENGINE, Beside, Wanted
from ackclock.reproduce.real_form import KERNEL, TWIN, Pair, real_form, together
from ackclock.results import read_capture
from ackclock.results.trace import Trace
from ackclock.results.transfer import Transfer, total_rate
from ackclock.scenario import variation

REAL = "real time"
LONG = 200.0
"""Seconds of the new TCPs, who are done before."""
OLD_DELAYS = (10, 30, 80)
"""One-way delays (ms) of the old TCPs; with --full those of J-F8."""
DELAYS, FULL_DELAYS = (30,), (10, 20, 30, 40, 50)
"""Those of the new TCPs."""
ORDERS = sorted(set(itertools.permutations(MIX)))
AT_ONCE = 14
NEAR = 0.1
"""By which totals may differ from the simulator's."""

CHOICES = {
    "engine": "the stacks of the item at both ends, in real time over the emulator: a kernel has neither old "
    "TCP nor a 4.3BSD receiver. Packets cross no device of a kernel",
    "path": "the link alone, 230.4 kbit/s with 50 packets; the Ethernets, 43 times as fast, are left out",
    "old TCP": f"one-way delays of {', '.join(map(str, OLD_DELAYS))} ms ({', '.join(map(str, four.DELAYS))} "
    "with "
    "--full), 170 s each",
    "new TCP": f"one-way delay of {', '.join(map(str, DELAYS))} ms ({', '.join(map(str, FULL_DELAYS))} with "
    f"--full) and the six places of two 4.3BSD receivers, {LONG:g} s each; {AT_ONCE} runs side by side",
    "Linux": "`reno` on the testbed: 512 bytes without timestamps, a window of about 16 KB (tcp_rmem), the "
    "kernel's delayed acks. Receivers that acknowledge at once are not in it: the testbed sets no "
    "TCP_QUICKACK, and where it is set segments have 1448 bytes",
    "twin": "the same scenarios simulated",
    "totals": f"within {100 * NEAR:.0f} % of the simulator's",
}


@dataclass(frozen=True)
class Case:
    """Four conversations of the engine."""

    kind: str
    one_way: int
    order: tuple[str, ...]

    @property
    def seconds(self) -> float:
        """How long they are watched."""
        return four.PLOTTED if self.kind == "old" else LONG

    def scenario(self) -> ac.Scenario:
        """Over the link alone."""
        queue = ac.DropTail(limit=f"{testbed.QUEUE}packets")
        path = ac.Single(ac.Link(f"{testbed.LINK}bit/s", f"{self.one_way}ms", queue=queue), rtt="links")
        stacks = {"old": testbed.old_tcp()} if self.kind == "old" else four.receivers()
        return testbed.conversations(path, stacks, self.order, seconds=self.seconds, trace=True)


@dataclass
class Ran:
    """What a case gave in both worlds."""

    real: list[dict[str, Any]]
    """Rows of flows as the table of flows has them."""
    transfers: list[Transfer]
    twin: Any
    notes: list[str]

    def of(self, world: str) -> list[dict[str, Any]]:
        """The rows of a world."""
        return self.real if world == REAL else self.twin.flows.to_pylist()

    def seen(self, world: str) -> list[Transfer]:
        """The transfers of a world."""
        return self.transfers if world == REAL else list(testbed.connections(self.twin).values())


def cases(full: bool) -> list[Case]:
    """All that is run: old TCPs over each delay, new ones over some with each order of the receivers."""
    delays = FULL_DELAYS if full else DELAYS
    return [
        *(Case("old", d, ("old",) * 4) for d in (four.DELAYS if full else OLD_DELAYS)),
        *(Case("new", d, order) for d in delays for order in ORDERS),
    ]


def ran(setting: Setting) -> tuple[dict[Case, Ran], Pair]:
    """All cases, and Linux. What one form has run another need not run again."""
    full = setting.full
    return variation.once(("J-F8 real", full), lambda: run(full, setting))


def run(full: bool, setting: Setting) -> tuple[dict[Case, Ran], Pair]:
    """Runs all cases, and Linux after them."""
    with tempfile.TemporaryDirectory() as folder:
        wanted = {
            c: Wanted(c.scenario(), (ENGINE, ENGINE), capture=Path(folder) / f"{n}.pcapng")
            for n, c in enumerate(cases(full))
        }
        pairs = real_flows.beside(wanted, setting, "J-F8 real", at_once=AT_ONCE, share=(0.0, 0.7))
        found = {c: result(c, pairs[c], w.capture) for c, w in wanted.items()}
    path = testbed.four_conversations(f"{four.SHOWN}ms")
    scenario = testbed.conversations(path, {"linux": linux()}, ["linux"] * 4, seconds=LONG, trace=True)
    kernel = together({"linux": scenario}, setting, "J-F8 real", share=(0.7, 1.0))["linux"]
    return found, kernel


def linux() -> ac.Stack:
    """The kernel with the paper's packets and window, and its twin."""
    sysctl = {
        "net.ipv4.tcp_timestamps": "0",
        "net.ipv4.tcp_early_retrans": "0",
        "net.ipv4.tcp_rmem": f"4096 {2 * testbed.WINDOW} {2 * testbed.WINDOW}",
        "net.ipv4.tcp_window_scaling": "0",
    }
    return ac.Stack(
        "linux-reno",
        recovery=ac.recovery.Rack(linux=True, tlp=False),
        mss=f"{testbed.DATA}B",
        timestamps=False,
        rcv_buf=f"{testbed.WINDOW}B",
        window_scaling=False,
        kernel={"cc": "reno", "sysctl": sysctl},
    )


def result(case: Case, found: Beside, capture: Path | None) -> Ran:
    """What a case gave: its flows as rows, and its transfers from the capture at the senders."""
    assert capture is not None
    packets = read_capture(capture, samples=False, packets=True).packets
    traces = [Trace.of_packets(of_connection(packets, n), 2 * n) for n in range(len(case.order))]
    zero = traces[0].origin
    transfers = [t.moved(zero) for t in traces]
    rows = []
    for f, t, label in zip(found.flows, transfers, case.order, strict=True):
        end = float(t.acked_at[-1]) if f["outcome"] == "finished" else None
        seconds = (case.seconds if end is None else end) - f["start"]
        goodput = 8 * f["bytes_delivered"] / seconds
        rows.append({**f, "stack": label, "end": end, "goodput": goodput})
    name = f"{case.kind} TCPs, {case.one_way} ms"
    return Ran(rows, transfers, found.twin, found.notes(name))


def of_connection(packets: pa.Table, n: int) -> pa.Table:
    """The packets of a connection, both ways."""
    return packets.filter(pc.equal(pc.bit_wise_or(packets["connection"], 1), 2 * n + 1))


def close(name: str, of: Sequence[tuple[float, float]]) -> Check:
    """Whether totals are those of the twins. of: pairs of both worlds."""
    got = [a / b for a, b in of]
    return between(f"{name} over the simulator's", got, 1 - NEAR, 1 + NEAR)


def totals(done: dict[Case, Ran], kind: str) -> dict[Case, dict[str, Totals]]:
    """The totals of all cases of a kind in both worlds."""
    return {
        c: {world: Totals.of_rows(r.of(world), c.seconds) for world in (REAL, TWIN)}
        for c, r in done.items()
        if c.kind == kind
    }


def same(found: dict[Case, dict[str, Totals]]) -> list[Check]:
    """Whether packets sent and retransmissions are those of the twins; retransmissions of all cases together,
    since a new TCP has few.
    """
    sent = [(float(t[REAL].sent), float(t[TWIN].sent)) for t in found.values()]
    resent = [sum(t[world].resent for t in found.values()) for world in (REAL, TWIN)]
    return [close("packets sent", sent), close("retransmissions, all runs", [(resent[0], resent[1])])]


def shown(done: dict[Case, Ran], kind: str) -> Ran:
    """The run of the figures: 30 ms one way, the receivers as in J-F9."""
    return done[Case(kind, four.SHOWN, ("old",) * 4 if kind == "old" else MIX)]


def punctual(done: dict[Case, Ran], kind: str) -> list[str]:
    """How well the emulator kept time in the runs of a kind."""
    return [line for c, r in done.items() if c.kind == kind for line in r.notes]


def plotted(title: str, run: Ran, until: float) -> Any:
    """The conversations in real time, and the simulator's behind them."""
    return sequence(
        {f"TCP {n}": t for n, t in enumerate(run.seen(REAL), start=1)},
        title=title,
        subtitle=four.SUBTITLE,
        available=testbed.LINK_DATA / 4,
        until=until,
        behind=("the four simulated", run.seen(TWIN)),
    )


@real_form("J-F8", title="Four old TCPs of the engine in real time", choices=CHOICES)
def without_avoidance(setting: Setting) -> Outcome:
    """Four old TCPs over several delays."""
    done, _ = ran(setting)
    found = totals(done, "old")
    checks = [*f8.judged([t[REAL] for t in found.values()]), *same(found)]
    notes = [
        f"{c.one_way} ms, {world}: {t[world].resent} of {t[world].sent} packets retransmitted; rates "
        f"{listed(t[world].rates)} KB/s"
        for c, t in found.items()
        for world in (REAL, TWIN)
    ]
    run = shown(done, "old")
    figure = plotted("Four conversations without congestion avoidance, in real time", run, 170.0)
    table = {"flows": pa.Table.from_pylist(flat(run.real))}
    return Outcome(checks, table, {"sequence": figure}, notes + punctual(done, "old"))


@real_form("J-F9", title="Four new TCPs of the engine in real time, and Linux beside them", choices=CHOICES)
def with_avoidance(setting: Setting) -> Outcome:
    """Four new TCPs over some delays with each order of the receivers, and four of the kernel."""
    done, kernel = ran(setting)
    found = totals(done, "new")
    new = [t[REAL] for t in found.values()]
    runs = [r for c, r in done.items() if c.kind == "new"]
    effect = Effect.summary([Effect.of_rows(r.real) for r in runs])
    twin = Effect.summary([Effect.of_rows(r.of(TWIN)) for r in runs])
    checks = [
        between("share of packets that are retransmissions", [t.share for t in new], 0.003, 0.03),
        at_least(
            "delivered over what the link carries, from 25 s to the first end",
            min(f9.share_of(r.transfers) for r in runs),
            0.95,
            "95 %",
        ),
        exactly("packets sent less retransmissions", sorted({t.sent - t.resent for t in new}), [4 * 2048]),
        between("speed of the new receivers over the old, median", effect["speed"], *f9.SPEED),
        between("loss of the old receivers over the new", effect["loss_ratio"], *f9.LOSS),
        *same(found),
    ]
    run = shown(done, "new")
    seen = Totals.of_rows(run.real, LONG)
    notes = [
        f"The run shown: {seen.resent} of {seen.sent} packets retransmitted (paper: 89 of 8281); rates "
        f"{listed(seen.rates)} KB/s (paper: 8, 8, 4.5, 4.5).",
        Effect.line({"reading": REAL, **effect}),
        Effect.line({"reading": TWIN, **twin}),
        *of_linux(kernel),
    ]
    figure = plotted("Four conversations with congestion avoidance, in real time", run, seen.seconds)
    table = {"flows": pa.Table.from_pylist(flat(run.real)), "linux": kernel.kernel.flows}
    return Outcome(checks, table, {"sequence": figure}, notes + punctual(done, "new"))


def of_linux(pair: Pair) -> list[str]:
    """The kernel's four conversations in both worlds."""
    lines = []
    for world, r in ((KERNEL, pair.kernel), (TWIN, pair.twin)):
        t = Totals.of(r, LONG)
        lines.append(
            f"Linux reno, {world}: {t.resent} of {t.sent} packets retransmitted, rates {listed(t.rates)} "
            "KB/s, "
            f"{f9.share_of(testbed.connections(r).values()):.3f} of the link used from 25 s to the first end"
        )
    return lines + pair.notes("Linux reno")


def flat(rows: Sequence[dict[str, Any]]) -> list[dict[str, Any]]:
    """Rows without the times of single responses."""
    return [{k: v for k, v in r.items() if not isinstance(v, list)} for r in rows]


def series(done: dict[Case, Ran], *, acked: bool) -> tuple[dict[str, np.ndarray], float]:
    """Payload per bin over what the link carries of old and new TCPs in both worlds, and when the first new
    conversation in real time ends (s).
    """
    found = {}
    for kind in ("old", "new"):
        run = shown(done, kind)
        for world in (REAL, TWIN):
            going_on = any(f["outcome"] == "unfinished" for f in run.of(world))
            found[f"{kind} TCPs, {world}"] = f10.binned(run.seen(world), going_on, acked=acked)
    return found, float(min(t.acked_at[-1] for t in shown(done, "new").transfers))


def bandwidth(setting: Setting, *, acked: bool) -> Outcome:
    """J-F10, or with `acked` J-F11."""
    done, _ = ran(setting)
    found, end = series(done, acked=acked)
    judge = f11.judged if acked else f10.judged
    checks = judge(found[f"old TCPs, {REAL}"], found[f"new TCPs, {REAL}"], end)
    old = [float(found[f"old TCPs, {world}"].mean()) for world in (REAL, TWIN)]
    checks.append(close("old TCPs, mean", [(old[0], old[1])]))
    word = "deliver" if acked else "use"
    figure = f10.figure(
        found,
        f"Bandwidth that old and new TCPs {word}, real time and simulated",
        f"payload {'acknowledged' if acked else 'sent'}, relative to the link",
        (0.0, 1.6 if acked else 2.0),
    )
    notes = [f"{name}: mean {v.mean():.3f}" for name, v in found.items()]
    return Outcome(checks, {"bins": f10.table(found)}, {"rates": figure}, notes)


@real_form(
    "J-F10",
    title="Total bandwidth sent by the engine's old and new TCPs in real time",
    choices={**CHOICES, **f10.MEANS, "runs": "those of the forms of J-F8 and J-F9, 30 ms one way"},
)
def sent(setting: Setting) -> Outcome:
    """Bytes sent per bin."""
    return bandwidth(setting, acked=False)


@real_form(
    "J-F11",
    title="Bandwidth delivered by the engine's old and new TCPs in real time",
    choices={**CHOICES, **f10.MEANS, "runs": "those of the forms of J-F8 and J-F9, 30 ms one way"},
)
def delivered(setting: Setting) -> Outcome:
    """Bytes newly acknowledged per bin."""
    return bandwidth(setting, acked=True)


@real_form(
    "J-F12",
    title="Window adjustment detail of the engine's new TCPs in real time",
    choices={**CHOICES, "runs": "those of the form of J-F9"},
)
def adjustment(setting: Setting) -> Outcome:
    """Spikes and their decay in all runs of new TCPs."""
    done, _ = ran(setting)
    new = {c: r for c, r in done.items() if c.kind == "new"}
    by_world = {w: [f12.row(c.one_way, c.order, r.seen(w)) for c, r in new.items()] for w in (REAL, TWIN)}
    complete = {w: [r for r in rows if len(r["heights"]) >= f12.PAIRS] for w, rows in by_world.items()}
    checks = f12.judged(complete[REAL])
    notes = []
    for world, rows in complete.items():
        falling, near = f12.counted(rows)
        quartiles = listed(list(np.percentile([r["tau"] for r in rows], [25, 50, 75])), 0)
        notes.append(
            f"{world}: time constant of the first three pairs, quartiles {quartiles} s (paper: 28), near it "
            "in "
            f"{near} of {len(rows)} runs; heights fall in {falling}"
        )
    run = shown(done, "new")
    until = min(float(t.acked_at[-1]) for w in (REAL, TWIN) for t in run.seen(w))
    level = testbed.LINK_DATA / KB
    figure = rates(
        {w: total_rate(run.seen(w), f12.WIDTH, until, acked=True)[:-1] / KB for w in (REAL, TWIN)},
        f12.WIDTH,
        title="How windows adjust, real time and simulated",
        subtitle="Bins of 3 s, four conversations with congestion avoidance, 30 ms one way",
        label="data acknowledged (KiB/s)",
        level=level,
        limits=(0, 2 * level),
    )
    rows = [{"world": w, **r} for w, of in by_world.items() for r in of]
    return Outcome(checks, {"runs": pa.Table.from_pylist(rows)}, {"spikes": figure}, notes)
