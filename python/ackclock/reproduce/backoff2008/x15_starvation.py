from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from matplotlib.figure import Figure

from ackclock.plot import Measured, measured
from ackclock.reproduce.backoff2008 import deployment, testbed
from ackclock.reproduce.backoff2008.deployment import Mixes
from ackclock.reproduce.backoff2008.testbed import NONE, TCP
from ackclock.reproduce.item import Check, Outcome, Setting, item, stated

SHARES = (0.1, 0.5, 0.9)
STARVED = 100.0
"""Seconds after its start at which a flow that is not done has starved."""
SECONDS = {"I": 40, "II": 150, "III": 400}
SEEDS = 4
"""Of the quick form."""
ERRORS = 2.0
"""Standard errors by which shares must differ."""
DECIDING = ("I", "II")


@dataclass(frozen=True)
class Share:
    """How many flows of how many starved."""

    starved: int
    flows: int

    @property
    def value(self) -> float:
        """Their share."""
        return self.starved / self.flows if self.flows else float("nan")

    @property
    def error(self) -> float:
        """Binomial standard error."""
        return float(np.sqrt(self.value * (1 - self.value) / self.flows)) if self.flows else float("nan")

    def exceeds(self, other: Share) -> bool:
        """Whether it is larger by the standard errors asked for, those of both together."""
        return bool(self.value - other.value > ERRORS * np.hypot(self.error, other.error))

    def __str__(self) -> str:
        return f"{self.starved} of {self.flows} ({100 * self.value:.3g} +/- {100 * self.error:.1g} %)"


def starved(m: Mixes, stack: str, share: float) -> Share:
    """The flows of one stack that were not done in time."""
    flows = pa.concat_tables(m.found[share].of(stack))
    late = pc.fill_null(pc.greater(flows["response_time"], STARVED), True)
    return Share(int(pc.sum(late).as_py() or 0), flows.num_rows)


@item(
    "B-X15",
    kind="SIM",
    title="Starvation of the TCP flows that remain beside TCP*(inf)",
    choices={
        **deployment.CHOICES,
        "shares": ", ".join(f"{100 * s:g}" for s in SHARES) + " % of TCP*(inf)",
        "starved": f"not done {STARVED:g} s after its start. Of flows of at most 10 kB (Trace-I) this is the "
        "backoff; a long flow of Traces II and III may need as long without any. That nothing is "
        "acknowledged for 60 s is the other reading, which was not counted",
        "errors": "binomial, of all flows of all seeds together; a difference must exceed two of both "
        "together",
        "duration": testbed.times(SECONDS),
        "random numbers": f"seeds 1 to {SEEDS} (1 to {deployment.FULL_SEEDS} with --full)",
    },
    tests=["tests/test_reproduce_backoff2008_starved.py::test_shares_are_compared_by_their_errors"],
)
def reproduce(setting: Setting) -> Outcome:
    """The share of flows that starve, by stack and mix, for the three traces."""
    found: dict[str, Mixes] = {}
    for i, trace in enumerate(SECONDS):
        part = Setting(
            setting.full, setting.workers, lambda x, label, i=i: setting.progress((i + x) / 3, label)
        )
        found[trace] = deployment.mixes(
            trace,
            TCP,
            NONE,
            part,
            "B-X15",
            shares=SHARES,
            quick_seeds=SEEDS,
            seconds=testbed.FULL if setting.full else SECONDS,
        )
    shares = {
        (trace, stack, s): starved(m, stack, s)
        for trace, m in found.items()
        for s in m.found
        for stack in (TCP, NONE)
        if s or stack == TCP
    }
    notes = [f"Trace-{t}, {100 * s:g} % TCP*(inf): {stack}: {x}" for (t, stack, s), x in shares.items()]
    notes += [
        f"Trace-{t}, {100 * s:g} %: longest response of TCP {longest(m, s):.0f} s"
        for t, m in found.items()
        for s in m.found
    ]
    rows = [
        {"trace": t, "share": s, "stack": stack, "starved": x.starved, "flows": x.flows}
        for (t, stack, s), x in shares.items()
    ]
    return Outcome(
        checks(shares), {"starved": pa.Table.from_pylist(rows)}, {"starved": picture(shares)}, notes
    )


def longest(m: Mixes, share: float) -> float:
    """The longest response time (s) of a TCP flow."""
    return max((float(t.max()) for t in m.found[share].times(TCP) if t.size), default=float("nan"))


def checks(shares: dict[tuple[str, str, float], Share]) -> list[Check]:
    """Those of the register: one of the deciding traces must show all of it."""
    most, least = SHARES[-1], SHARES[0]
    held = {}
    for trace in DECIDING:
        tcp, none, few = shares[trace, TCP, most], shares[trace, NONE, most], shares[trace, TCP, least]
        held[trace] = (
            tcp.starved > 0,
            tcp.exceeds(none),
            tcp.exceeds(few),
            f"TCP {tcp}, TCP*(inf) {none}, TCP at {100 * least:g} % {few}",
        )
    shown = "; ".join(f"Trace-{t}: {parts[-1]}" for t, parts in held.items())
    best = max(held.values(), key=lambda parts: sum(parts[:3]))
    names = (
        f"at {100 * most:g} %: a TCP flow starves",
        f"at {100 * most:g} %: more of TCP than of TCP*(inf), by two standard errors",
        f"more of TCP at {100 * most:g} % than at {100 * least:g} %, by two standard errors",
    )
    return [
        stated(name, shown, holds, "in Trace-I or Trace-II")
        for name, holds in zip(names, best[:3], strict=True)
    ]


def picture(shares: dict[tuple[str, str, float], Share]) -> Figure:
    """Shares against the mix."""
    x = np.array(SHARES)
    series = []
    for trace in SECONDS:
        for stack in (TCP, NONE):
            mine = [shares[trace, stack, s] for s in SHARES]
            halves = np.array([1.96 * m.error for m in mine])
            series.append(
                Measured(
                    f"Trace-{trace}, {stack}", 100 * x, np.array([100 * m.value for m in mine]), 100 * halves
                )
            )
    return measured(
        series,
        title=f"Flows that are not done {STARVED:g} s after their start",
        subtitle="10 Mbit/s RED bottleneck, RTT 10-200 ms, SACK, minimum RTO 0.2 s; 95 % bands",
        xlabel="share of TCP*(inf) (%)",
        ylabel="share of the flows (%)",
    )
