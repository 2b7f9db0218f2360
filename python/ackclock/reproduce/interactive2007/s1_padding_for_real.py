from __future__ import annotations

from typing import Any

import numpy as np
import pyarrow as pa

from ackclock.plot.worlds import Worlds, world_panels
from ackclock.reproduce.interactive2007 import for_real
from ackclock.reproduce.interactive2007.for_real import (
    AS_IS,
    KERNELS,
    NEWRENO,
    PADDED,
    PLAIN,
    SACK,
    THREE_DUPLICATES,
    Found,
    Load,
    Measured,
    of,
)
from ackclock.reproduce.item import Check, Outcome, Setting, at_most, between, exactly, item, stated

QUICK = Load((0.05, 0.1), 800, 8, tuple(KERNELS))
FULL = Load((0.02, 0.05, 0.1, 0.2), 800, 60, (*KERNELS, *THREE_DUPLICATES))
BAND = (0.75, 4 / 3)
"""Between which a ratio of two means must lie: four standard errors of what the quick form can resolve where
fewest packets are lost.
"""
LATENESS = 0.002
"""Mean lateness (s) of the emulator's deliveries above which round trips are not those asked for: a fiftieth
of one.
"""
COUNTERS = ("RetransSegs", "TCPTimeouts", "TCPLossProbes", "TCPSackRecovery", "TCPRenoRecovery")


@item(
    "I-S1",
    kind="REAL, SIM, CF",
    title="Does padding in the application pay over a real kernel's sockets?",
    choices={
        "applications": "the policies `telnet` and `padded` themselves, above sockets; each types at the "
        "same moments as its twin in the simulator",
        "packets": f"500 bytes, on average every {for_real.THINK:g} s in each flow, so that a loss is "
        "mostly repaired before the next one is typed, as the formulas have it; padded "
        f"with m = {for_real.M}: three dummies of 20 bytes, 1 ms apart",
        "path": f"{1e3 * for_real.RTT:g} ms and no queue; data packets are lost at random, acks are not. "
        "The emulator's link is the simulator's",
        "response time": "from the write to the acknowledgment, as the kernel stamps it (SO_TIMESTAMPING, "
        "TX_ACK)",
        SACK: (
            "of the paper's TCP what a current kernel can be: RTO 1 s (tcp_rto_min_us), no probes, no "
            "F-RTO, no timestamps, Reno's window, every packet acknowledged at once. Three duplicates are "
            "not required: kernels from 6.17 on find losses by RACK whatever tcp_recovery says, where SACK "
            "is used"
        ),
        NEWRENO: "the same without SACK, where three duplicates are still counted; with --full",
        AS_IS: "CUBIC, and all else at its defaults: RTO at least 200 ms above SRTT, RACK, tail loss probes, "
        "delayed acks",
        "twins": "RACK as RFC 8985 has it, with probes as in the kernel or without; NewReno. Their timers "
        "are exact, Linux's expire on ticks of 4 to 32 ms. Each packet is acknowledged at once, "
        "as Linux does after a gap longer than the RTO. Linux counts its window in packets, "
        "dummies too, the engine in bytes: the twins' dummies are as long as packets, and each "
        "fills a segment",
        "formulas": "(3) and (12) with the RTO that the kernel reports for plain flows (median at the "
        "end). For checks they are taken over the packets whose ack comes before the run "
        "ends, as both worlds count them",
        "waiting for a timeout": "taking longer than half an RTO beyond the RTT, and than 2.5 RTT",
        "repetitions": f"{QUICK.flows} flows of either kind for {QUICK.seconds:g} s at each loss; with "
        f"--full {FULL.flows} for {FULL.seconds:g} s",
        "checks": "ours, as the paper has no such experiment. Padding beats plain typing at each "
        f"loss, and spares at least half as many packets a timeout as (11) has it; means within "
        f"{BAND[0]:g} to {BAND[1]:.3g} of the twin's and of the formula's. Chosen after trial runs, in "
        "which NewReno failed the first. After those, too: that the twins' dummies fill "
        "segments, and that they acknowledge at once where Linux is as it is",
    },
    tests=[
        "tests/test_reproduce_interactive2007_real.py::test_the_closed_forms_are_those_of_the_register",
        "tests/test_reproduce_interactive2007_real.py::test_the_kernels_flows_type_when_their_twins_do",
    ],
)
def reproduce(setting: Setting) -> Outcome:
    """The same typing, plain and padded, by kernels over the emulator, by the simulator, and by formula."""
    load = FULL if setting.full else QUICK
    real = for_real.real(load, setting, (0.0, 0.8))
    if real.missing:
        return Outcome([], skipped=real.missing)
    if problem := unfit(real.runs):
        return Outcome([], skipped=problem)
    twins = for_real.simulated(load, setting, (0.8, 1.0))
    notes = (
        [described(load, kernel, real, twins) for kernel in load.kernels]
        + [counted(real, kernel) for kernel in load.kernels]
        + [punctuality(real.runs)]
    )
    table = pa.Table.from_pylist([m.row() for m in (*real.measured, *twins)])
    return Outcome(
        checks(load, real, twins),
        {"runs": table},
        {"response": figure(load, real, twins)},
        notes,
        answer=answer(load, real),
    )


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


def checks(load: Load, real: Found, twins: list[Measured]) -> list[Check]:
    """What is to hold of each kernel."""
    found = []
    for kernel in load.kernels:
        rto = real.rto(kernel)
        apps = {app: [of(real.measured, kernel, app, p) for p in load.losses] for app in (PLAIN, PADDED)}
        pairs = list(zip(apps[PADDED], apps[PLAIN], strict=True))
        ratios = [padded.mean / plain.mean for padded, plain in pairs]
        wins = all(r < 1 for r in ratios)
        found.append(
            stated(
                f"{kernel}: mean response time, padded over plain, p = {losses(load)}",
                listed(ratios),
                wins,
                "below 1 at each",
            )
        )
        waiting = max(shares(padded, plain, rto) for padded, plain in pairs)
        found.append(
            at_most(
                f"{kernel}: share waiting for a timeout, padded over plain, over the formula's, at worst",
                waiting,
                2.0,
                "twice",
            )
        )
        for app, measured in apps.items():
            twin = [m.mean / of(twins, kernel, app, m.p).mean for m in measured]
            formula = [m.mean / for_real.expected(app, m.p, rto, load.seconds) for m in measured]
            found.append(between(f"{kernel}, {app}: mean, kernel over twin", twin, *BAND))
            found.append(between(f"{kernel}, {app}: mean, kernel over formula", formula, *BAND))
    options = [o for run in real.runs for end in ("client", "server") for o in run["options"][end]]
    found.append(exactly("sockets without TCP_NODELAY, which was set", sum(o["other"] for o in options), 0))
    differing = sum(run["stamps"]["read"] - run["stamps"]["agreeing"] for run in real.runs)
    found.append(
        exactly(
            "stamps of acknowledgments that the count of unacknowledged bytes (SIOCOUTQ) contradicts",
            differing,
            0,
        )
    )
    return found


def shares(padded: Measured, plain: Measured, rto: float) -> float:
    """The share of packets that wait for a timeout, padded over plain, over what the formula has:
    `Q + (1 - Q) p` with Q(m) of (11).
    """
    slow = [m.slow(for_real.limit(rto)) / for_real.expected_slow(m.app, m.p, rto) for m in (padded, plain)]
    return slow[0] / slow[1] if slow[1] else float("inf")


def losses(load: Load) -> str:
    """The losses in words."""
    return ", ".join(f"{100 * p:g}" for p in load.losses) + " %"


def listed(values: list[float]) -> str:
    """Numbers in words."""
    return ", ".join(f"{v:.3f}" for v in values)


def answer(load: Load, real: Found) -> str:
    """What the results come to."""
    sentences = []
    for kernel in load.kernels:
        means = [[of(real.measured, kernel, app, p).mean for app in (PLAIN, PADDED)] for p in load.losses]
        each = "; ".join(
            f"{1e3 * a:.0f} against {1e3 * b:.0f} ms at {100 * p:g} %"
            for (a, b), p in zip(means, load.losses, strict=True)
        )
        sentences.append(
            f"{kernel}: {each} ({(1 - np.mean([b / a for a, b in means])) * 100:.0f} % less on average)"
        )
    return f"Mean response time of plain against padded typing. {'. '.join(sentences)}."


def described(load: Load, kernel: str, real: Found, twins: list[Measured]) -> str:
    """A kernel beside its twin and the formulas, in a line."""
    rto, parts = real.rto(kernel), []
    for p in load.losses:
        for app in (PLAIN, PADDED):
            m, t = of(real.measured, kernel, app, p), of(twins, kernel, app, p)
            parts.append(
                f"{app} at {100 * p:g} %: {1e3 * m.mean:.1f} +/- {1e3 * m.half:.1f} ms ({m.packets} "
                f"packets, {m.timeouts} timeouts, {100 * m.slow(for_real.limit(rto)):.1f} % waited for "
                f"one, {100 * for_real.expected_slow(app, p, rto):.1f} % by the formula), twin "
                f"{1e3 * t.mean:.1f} +/- {1e3 * t.half:.1f} ms, formula "
                f"{1e3 * for_real.expected(app, p, rto):.1f} ms"
            )
        median, small = real.windows(kernel, p)
        parts.append(
            f"the windows of padded flows at its end: {median:.0f} packets in the median, "
            f"{100 * small:.0f} % below {for_real.M}"
        )
    return f"{kernel}, RTO {1e3 * rto:.0f} ms: {'; '.join(parts)}"


def counted(real: Found, kernel: str) -> str:
    """What the senders' kernels counted themselves, all runs together."""
    count = dict.fromkeys(COUNTERS, 0)
    for c in (
        c for run in real.runs if run["kernel"] == kernel for c in run["counters"] if c["name"] in count
    ):
        count[c["name"]] += c["client"]
    return f"{kernel}: the senders' kernels counted {', '.join(f'{name} {n}' for name, n in count.items())}"


def punctuality(runs: list[dict[str, Any]]) -> str:
    """How well the emulator kept time, and what stamps are worth."""
    delivered, read = (
        sum(run["path"]["delivered"] for run in runs),
        sum(run["stamps"]["read"] for run in runs),
    )
    mean = (
        1e6 * sum(run["path"]["mean_lateness"] * run["path"]["delivered"] for run in runs) / max(delivered, 1)
    )
    lag = 1e6 * sum(run["stamps"]["lag"] for run in runs) / max(read, 1)
    latest, longest = (
        1e3 * max(run[part][key] for run in runs)
        for part, key in (("path", "max_lateness"), ("stamps", "max_lag"))
    )
    return (
        f"the emulator made {delivered} deliveries, on average {mean:.0f} us late, at most "
        f"{latest:.1f} ms; {read} stamps of acks were read, on average {lag:.0f} us and at most "
        f"{longest:.1f} ms after the kernel made them, by which response times would be too long "
        "without them"
    )


def figure(load: Load, real: Found, twins: list[Measured]) -> Any:
    """Mean response time against loss, a panel for each kernel."""
    grid = np.linspace(0.0, 1.1 * max(load.losses), 60)

    def points(world: list[Measured], kernel: str, app: str) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        found = [of(world, kernel, app, p) for p in load.losses]
        return (
            np.array([100 * m.p for m in found]),
            np.array([m.mean for m in found]),
            np.array([m.half for m in found]),
        )

    def one(kernel: str, app: str) -> Worlds:
        formula = np.array([for_real.expected(app, p, real.rto(kernel)) for p in grid])
        return Worlds((100 * grid, formula), points(twins, kernel, app), points(real.measured, kernel, app))

    names = {PLAIN: "plain", PADDED: "padded"}
    order = [kernel for kernel in (NEWRENO, SACK, AS_IS) if kernel in load.kernels]
    return world_panels(
        {kernel: {names[app]: one(kernel, app) for app in (PLAIN, PADDED)} for kernel in order},
        title="Padding on Linux, simulated, and by equations (3) and (12)",
        subtitle=f"{load.flows} flows of either kind for {load.seconds:g} s at each loss, a packet every "
        f"{for_real.THINK:g} s; RTT {1e3 * for_real.RTT:g} ms; 95 % confidence",
        xlabel="loss of data packets (%)",
        ylabel="mean response time (s)",
        words=("formula", "simulated twin", "kernel"),
    )
