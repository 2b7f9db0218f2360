from __future__ import annotations

import platform
from dataclasses import replace
from typing import Any

import numpy as np
import pyarrow as pa

from ackclock.plot.panels import ccdf_panels
from ackclock.reproduce.backoff2008 import linux, testbed
from ackclock.reproduce.backoff2008.comparison import ratio, shown
from ackclock.reproduce.backoff2008.linux import (
    AS_IS,
    CAPPED,
    CLOSED,
    CLOSING,
    LINEAR,
    STACKS,
    Kernels,
    Linux,
    Load,
    Measured,
)
from ackclock.reproduce.item import Check, Outcome, Setting, exactly, item, within

QUICK = (Load("red", 3, 9, 12),)
FULL = (Load("red", 5, 30, 60), Load("drop-tail", 5, 30, 60))
LATENESS = 1e-3
"""Mean lateness (s) of the emulator's deliveries above which its delays are not those that were asked for: a
tenth of the shortest round trip.
"""
NO_TAIL = "none: more than one connection in a hundred was given up"
"""Text in place of a 99th percentile where there is none."""
COUNTERS = ("RetransSegs", "TCPTimeouts", "TCPLossProbes", "TCPSynRetrans", "ListenOverflows")


@item(
    "B-S9",
    kind="REAL, SIM",
    title="What does Linux's own TCP do with and without backoff, beside its simulated twins?",
    choices={
        **{
            key: testbed.CHOICES[key]
            for key in ("flow sizes", "arrivals", "round-trip times", "queue", "RED")
        },
        "hosts": "two kernels in namespaces; each transfer has a client address of its own, whose delay "
        "the emulator holds before and after the link",
        "who closes": "the client, when it has read as many bytes as it knows will come: linear timeouts "
        "hold in the state ESTABLISHED alone, which a server leaves when it closes. The "
        "simulated server closes with its last byte, so that the answer ends at the same "
        "moment",
        "kernels": f"`{linux.COMMON['net.ipv4.tcp_congestion_control']}`, no metrics of earlier "
        "connections; all else at its defaults: RACK, tail loss probes, initial window 10, linear "
        "SYN timeouts. All sockets have TCP_THIN_LINEAR_TIMEOUTS, or TCP_RTO_MAX_MS = 1000 for "
        "the ceiling",
        **linux.TWIN_CHOICES,
        "giving up": "as Linux does: a connection that it gives up counts among those that took longer "
        "than any other",
        "repetitions": f"seeds 1 to {QUICK[0].seeds}: arrivals for {QUICK[0].seconds:g} s, then "
        f"{QUICK[0].drain:g} s; with --full seeds 1 to {FULL[0].seeds}, arrivals for "
        f"{FULL[0].seconds:g} s, then {FULL[0].drain:g} s, RED and drop-tail, and a server "
        "that closes first as well",
        "goodput": "while transfers start: of the kernels what clients have read, in the simulator payload "
        "that the link carried for the first time",
        "checks": "P99 as in B-F2a and goodput as in B-X2. Kernel against twin: the same transfers and the "
        "same queue, another TCP in details (RACK, TLP), hence the median within 25 % and the "
        "loss within 5 points. These limits were set before any result, the runs' lengths after "
        "trial runs",
    },
)
def reproduce(setting: Setting) -> Outcome:
    """The same transfers by two kernels over the emulator, and by the simulator."""
    loads = FULL if setting.full else QUICK
    stacks = STACKS | CLOSING if setting.full else STACKS
    outcome = Outcome([])
    rows: list[dict[str, Any]] = []
    for n, load in enumerate(loads):
        part = one(load, stacks, setting, (n / len(loads), (n + 1) / len(loads)))
        if part.skipped:
            return part
        outcome.checks += part.checks
        outcome.notes += part.notes
        outcome.figures |= part.figures
        outcome.answer += (" " if outcome.answer else "") + part.answer
        rows += part.tables["runs"].to_pylist()
    outcome.tables["runs"] = pa.Table.from_pylist(rows)
    return outcome


def one(load: Load, stacks: dict[str, Linux], setting: Setting, share: tuple[float, float]) -> Outcome:
    """One queue: checks, figure, table and notes, or why there are none."""
    # Where there is no 99th percentile, a ratio of it is none either.
    with np.errstate(invalid="ignore"):
        return _one(load, stacks, setting, share)


def _one(load: Load, stacks: dict[str, Linux], setting: Setting, share: tuple[float, float]) -> Outcome:
    begin, end = share
    real = linux.kernels(load, stacks, setting, (begin, begin + 0.9 * (end - begin)))
    if AS_IS not in {m.stack for m in real.measured}:
        return Outcome([], skipped=real.missing.get(AS_IS, "nothing was measured"))
    if problem := unfit(real.runs):
        return Outcome([], skipped=problem)
    there = {label: s for label, s in stacks.items() if label not in real.missing}
    shown_too = there | linux.WHEELED if setting.full else there
    twins = linux.simulated(load, shown_too, setting, (begin + 0.9 * (end - begin), end))
    rows = [{"queue": load.queue, **m.row()} for m in [*real.measured, *twins]]
    notes = [f"{label} skipped, neither passed nor failed: {why}" for label, why in real.missing.items()]
    notes += [
        described(label, runs)
        for label in shown_too
        for world in (real.measured, twins)
        if (runs := [m for m in world if m.stack == label])
    ]
    notes += [counted(label, real) for label in there] + [punctuality(real.runs)]
    notes += [linux.recovery(platform.release())] if linux.PLAIN in there else []
    return Outcome(
        [check_of(load, c) for c in checks(real, twins, there)],
        {"runs": pa.Table.from_pylist(rows)},
        {load.queue.replace("-", "_"): figure(load, real.measured, twins)},
        [f"{load.queue}: {note}" for note in notes],
        answer=answer(load, real, twins, there),
    )


def answer(load: Load, real: Kernels, twins: list[Measured], stacks: dict[str, Linux]) -> str:
    """What the results come to, in a few sentences."""

    def tail(label: str) -> str:
        there, here = (
            float(p99(real.measured, label).mean()),
            float(p99(twins, linux.twin_of(label, stacks)).mean()),
        )
        words = f"{there:.3g} s" if np.isfinite(there) else "for ever"
        return f"{words} with {label} ({here:.3g} s in the simulator)"

    def given_up(label: str) -> int:
        return sum(int(np.isinf(m.times).sum()) for m in real.measured if m.stack == label)

    changed = [label for label in (LINEAR, CAPPED, CLOSED) if label in stacks]
    kept = min(
        (goodput(real.measured, label).mean() / goodput(real.measured, AS_IS).mean() for label in changed),
        default=1.0,
    )
    text = (
        f"Over {queue_name(load)}, the slowest hundredth of Linux's transfers takes at least "
        f"{'; '.join(map(tail, (AS_IS, *changed)))}. "
    )
    text += f"Goodput is at least {kept:.3f} of that with backoff."
    gone = [f"{given_up(label)} with {label}" for label in (AS_IS, *changed) if given_up(label)]
    return text + (f" Not finished: {', '.join(gone)}." if gone else "")


def queue_name(load: Load) -> str:
    """The queue as prose has it."""
    return {"red": "RED"}.get(load.queue, load.queue)


def checks(real: Kernels, twins: list[Measured], stacks: dict[str, Linux]) -> list[Check]:
    """What is to hold of the kernels, and of each against its twin."""
    found = []
    for label in (LINEAR, CAPPED):
        if label in stacks:
            found += [
                tails(
                    f"kernel: P99, {label} over {AS_IS}", p99(real.measured, label), p99(real.measured, AS_IS)
                ),
                ratio(
                    f"kernel: goodput, {label} over {AS_IS}",
                    goodput(real.measured, label),
                    goodput(real.measured, AS_IS),
                    least=0.98,
                ),
            ]
    for label in stacks:
        ours = [m for m in real.measured if m.stack == label]
        theirs = [m for m in twins if m.stack == linux.twin_of(label, stacks)]
        medians = [np.array([m.quantile(0.5) for m in world]) for world in (ours, theirs)]
        found.append(ratio(f"{label}: median, kernel over twin", *medians, least=0.75, most=1.25))
        loss = [100 * float(np.mean([m.loss for m in world])) for world in (ours, theirs)]
        found.append(within(f"{label}: loss in the kernels' run against the twin's (%)", *loss, 5.0))
    found.append(
        exactly("sockets without an option that was set", sum(o["other"] for o in options(real.runs)), 0)
    )
    return found


def tails(name: str, ours: np.ndarray, theirs: np.ndarray) -> Check:
    """Holds when the tail is no longer than with backoff, and there is one."""
    check = ratio(name, ours, theirs, most=1.05)
    return check if np.isfinite([*ours, *theirs]).all() else replace(check, got=NO_TAIL, holds=False)


def check_of(load: Load, check: Check) -> Check:
    """A check with the queue that it is of."""
    return replace(check, name=f"{load.queue}: {check.name}")


def p99(measured: list[Measured], stack: str) -> np.ndarray:
    """The 99th percentile of each run."""
    return np.array([m.quantile(0.99) for m in measured if m.stack == stack])


def goodput(measured: list[Measured], stack: str) -> np.ndarray:
    """The goodput of each run."""
    return np.array([m.goodput for m in measured if m.stack == stack])


def options(runs: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """What the sockets of both ends answered, for each option."""
    return [o for run in runs for end in ("client", "server") for o in run["options"][end]]


def unfit(runs: list[dict[str, Any]]) -> str | None:
    """Why the delays of the emulator were not as configured; None if they were. The kernels are not checked
    then.
    """
    late = max(run["path"]["mean_lateness"] for run in runs)
    if late > LATENESS:
        return (
            f"the machine was too busy for real time: deliveries were {1e3 * late:.2g} ms late on "
            f"average, expected at most {1e3 * LATENESS:g} ms"
        )
    lost = sum(run["path"]["undelivered"] for run in runs)
    return (
        f"the machine was too busy for real time: {lost} packets were lost that should not have been"
        if lost
        else None
    )


def described(label: str, runs: list[Measured]) -> str:
    """A stack in one world in a line: means over the runs."""
    rows = [m.row() for m in runs]
    numbers = {key: [row[key] for row in rows] for key in ("mean", "median", "p99")}
    mean = {key: f"{shown(v, 3)} s" if np.isfinite(v).all() else NO_TAIL for key, v in numbers.items()}

    def each(key: str) -> float:
        return float(np.mean([row[key] / row["flows"] for row in rows]))

    return (
        f"{label}, {runs[0].world}: {sum(r['finished'] for r in rows)} of "
        f"{sum(r['flows'] for r in rows)} flows finished in {len(runs)} runs, mean {mean['mean']}, "
        f"median {mean['median']}, P99 {mean['p99']}, loss {shown([100 * r['loss'] for r in rows], 3)} "
        f"%, goodput {shown([r['goodput'] / 1e6 for r in rows], 3)} Mbit/s; for each flow the server "
        f"sent {each('sent'):.2f} segments with payload, and its timer expired {each('timeouts'):.2f} "
        f"times, SYN-ACKs {'included' if runs[0].world == 'simulator' else 'not included'}"
    )


def counted(label: str, real: Kernels) -> str:
    """What the kernels of a stack counted themselves, all runs together."""
    runs = [run for run in real.runs if run["stack"] == label]
    count: dict[str, int] = {}
    for c in (c for run in runs for c in run["counters"] if c["name"] in COUNTERS):
        count[c["name"]] = count.get(c["name"], 0) + c["server"]
    return f"{label}, the servers' kernels counted: {', '.join(f'{name} {n}' for name, n in count.items())}"


def punctuality(runs: list[dict[str, Any]]) -> str:
    """How well the emulator and the clients kept time."""
    delivered = sum(run["path"]["delivered"] for run in runs)
    late = sum(run["path"]["late"] for run in runs)
    mean = (
        1e6 * sum(run["path"]["mean_lateness"] * run["path"]["delivered"] for run in runs) / max(delivered, 1)
    )
    opened = [x for run in runs for x in run["flows"]["late"]]
    return (
        f"the emulator made {delivered} deliveries, on average {mean:.0f} us late, {late} of them by "
        f"more than 1 ms, at most {1e3 * max(run['path']['max_lateness'] for run in runs):.1f} ms; "
        f"transfers began on average {1e6 * np.mean(opened):.0f} us late"
    )


def figure(load: Load, real: list[Measured], twins: list[Measured]) -> Any:
    """Response times of both worlds, side by side."""

    def series(world: list[Measured]) -> dict[str, list[np.ndarray]]:
        return {
            label: [m.times for m in world if m.stack == label]
            for label in dict.fromkeys(m.stack for m in world)
        }

    subtitle = (
        f"10 Mbit/s {queue_name(load)} bottleneck, RTT 10-200 ms, web flows of Trace-I, "
        f"{testbed.OFFERED_MBIT:g} Mbit/s for {load.seconds:g} s; "
    )
    subtitle += f"{load.seeds} runs of each"
    panels = {
        "Linux in namespaces, over the emulator": series(real),
        "Simulated twins, without RACK and TLP": series(twins),
    }
    return ccdf_panels(
        panels, title="Response times of Linux's TCP and of its simulated twins", subtitle=subtitle
    )
