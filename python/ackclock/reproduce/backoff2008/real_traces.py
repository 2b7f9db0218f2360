"""Real forms of the paper's testbed: the kernel's `reno` with doubled and with linear timeouts."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

import ackclock as ac
from ackclock.plot import ccdf_bands
from ackclock.reproduce.backoff2008 import testbed
from ackclock.reproduce.backoff2008 import two_bottlenecks as two
from ackclock.reproduce.backoff2008.comparison import ratio
from ackclock.reproduce.backoff2008.testbed import NONE, TCP
from ackclock.reproduce.item import Check, Outcome, Setting, between, stated
from ackclock.reproduce.real_form import KERNEL, TWIN, Pair, beside, real_form, together
from ackclock.results import Run

SECONDS = {"I": 20.0, "II": 40.0, "III": 60.0}
"""Time of arrivals, and after it `REST` for what is not done."""
FULL = {"I": 60.0, "II": 60.0, "III": 120.0}
REST = 60.0
FULL_SEEDS = 3
AT_ONCE = 2
"""Runs at the same time: each takes a third of a core."""
NEAR = 0.25
"""By which the median may differ from the twin's, as a part of it."""

CHOICES = {
    "kernel": "`reno` with the namespace's defaults but: minRTO as said, no metrics kept of earlier "
    "connections. Its timeout is SRTT and at least minRTO more",
    "without backoff": "TCP_THIN_LINEAR_TIMEOUTS on both sockets: no doubling at the first six expiries "
    "in a row, with fewer than four packets in flight",
    "who closes": "the client of a web flow, when it has read the response: linear timeouts hold in the "
    "state ESTABLISHED alone, which a server leaves when it closes",
    "SYNs": "initRTO 1 s; the first five are a second apart, then doubled, whatever the option says",
    "not done": f"a flow that is not done {REST:g} s after the last arrival, or is given up, counts among "
    "the slowest",
    "twin": "the preset `linux-reno`, with the backoff that this option makes",
    "seeds": "1 (3 with --full); arrivals for "
    f"{', '.join(f'{s:g} s of Trace-{t}' for t, s in SECONDS.items())} (with --full "
    f"{', '.join(f'{s:g}' for s in FULL.values())} s)",
}


def stacks(min_rto: str) -> dict[str, ac.Stack]:
    """TCP and, by the socket option, TCP*(6), with their twins."""
    timer = ac.estimator.Linux(variation_floor=min_rto, min_rto=min_rto)
    route = {"cc": "reno", "route": {"rto_min": min_rto}}
    linear = {**route, "options": {"TCP_THIN_LINEAR_TIMEOUTS": 1}}
    return {
        TCP: ac.Stack("linux-reno", estimator=timer, kernel=route),
        NONE: ac.Stack(
            "linux-reno", estimator=timer, backoff=ac.backoff.ThinLinear(max_timeout="120s"), kernel=linear
        ),
    }


def scenario(
    path: Any, load: Any, min_rto: str, seconds: float, setting: Setting, **more: Any
) -> ac.Scenario:
    """Both stacks over a path; servers of web flows leave the close to their clients. more: other keys of a
    scenario, or `stacks` in place of these two.
    """
    tcp = more.pop("stacks", None) or stacks(min_rto)
    loads = load if isinstance(load, list) else [load]
    load = [ac.Web(**{**w.given, "closes": "client"}) if isinstance(w, ac.Web) else w for w in loads]
    options = {"seed": 1, "repeat": FULL_SEEDS if setting.full else 1, "duration": f"{seconds:g}s"} | more
    return ac.Scenario.of(path, load, tcp, drain=f"{REST:g}s", **options)


def run(path: Any, load: Any, min_rto: str, seconds: float, setting: Setting, label: str) -> Pair:
    """Both stacks over a path, on the kernel and simulated."""
    return beside(scenario(path, load, min_rto, seconds, setting), setting, label)


def times(run: Run, stack: str, group: str | None = None) -> np.ndarray:
    """Response times (s) of a stack's flows; infinite for those that were not done."""
    flows = run.flows.filter(pc.equal(run.flows["stack"], stack))
    if group is not None:
        flows = flows.filter(pc.equal(flows["group"], group))
    done = pc.equal(flows["outcome"], "finished").to_numpy(zero_copy_only=False)
    found = flows["response_time"].to_numpy(zero_copy_only=False)
    return np.where(done, found, np.inf)


def quantile(values: np.ndarray, q: float) -> float:
    """A quantile; flows that were not done are above all others."""
    return float(np.quantile(values, q, method="inverted_cdf")) if values.size else float("nan")


def mean(values: np.ndarray, end: float) -> float:
    """The mean, in which a flow that was not done counts with so many seconds."""
    return float(np.where(np.isfinite(values), values, end).mean()) if values.size else float("nan")


def near_twin(pair: Pair, names: Sequence[str], group: str | None = None) -> list[Check]:
    """Whether medians are those of the twins."""
    checks = []
    for stack in names:
        a, b = (quantile(times(r, stack, group), 0.5) for r in (pair.kernel, pair.twin))
        checks.append(between(f"{stack}: median on the kernel over the twin's", a / b, 1 - NEAR, 1 + NEAR))
    return checks


def both(
    pair: Pair, names: Sequence[str] = (TCP, NONE), group: str | None = None
) -> dict[str, list[np.ndarray]]:
    """The series of a figure: both worlds, flows that were done."""
    return {
        f"{stack}, {world}": [t[np.isfinite(t)]]
        for world, r in ((KERNEL, pair.kernel), (TWIN, pair.twin))
        for stack in names
        for t in [times(r, stack, group)]
    }


def described(pair: Pair, names: Sequence[str] = (TCP, NONE), group: str | None = None) -> list[str]:
    """Each stack in each world in a line."""
    lines = []
    for world, r in ((KERNEL, pair.kernel), (TWIN, pair.twin)):
        for stack in names:
            t = times(r, stack, group)
            done = t[np.isfinite(t)]
            lines.append(
                f"{stack}, {world}: {done.size} of {t.size} done, mean {done.mean():.3g} s, median "
                f"{quantile(t, 0.5):.3g} s, P99 {quantile(t, 0.99):.3g} s, goodput "
                f"{np.mean([x['goodput'] for x in r.stacks if x['stack'] == stack]) / 1e6:.3g} Mbit/s"
            )
    return lines


def kept(pair: Pair) -> dict[str, pa.Table]:
    """The flows of both worlds."""
    return {"kernel": pair.kernel.flows, "twin": pair.twin.flows}


def congested(trace: str, min_rto: str, setting: Setting, label: str) -> Outcome:
    """B-F2 and B-X1: the congested bottleneck."""
    seconds = (FULL if setting.full else SECONDS)[trace]
    pair = run(testbed.dumbbell(10), testbed.web(trace, 10), min_rto, seconds, setting, label)
    tcp, none = (times(pair.kernel, stack) for stack in (TCP, NONE))
    end = seconds + REST
    most = 1.05 if trace == "I" else 1.10
    checks = [
        ratio("P99 of TCP*(inf) over TCP", quantile(none, 0.99), quantile(tcp, 0.99), most=most),
        ratio(
            "mean of TCP*(inf) over TCP", mean(none, end), mean(tcp, end), most=1.0 if trace == "I" else 1.10
        ),
        *near_twin(pair, (TCP, NONE)),
    ]
    figure = ccdf_bands(
        both(pair),
        title="Response times with and without backoff, on the kernel and simulated",
        subtitle=f"10 Mbit/s RED bottleneck, RTT 10-200 ms, Trace-{trace}, minimum RTO {min_rto}",
        by="stack, world",
    )
    return Outcome(checks, kept(pair), {"ccdf": figure}, described(pair) + pair.notes(label))


for _trace, _id in (("I", "B-F2a"), ("II", "B-F2b"), ("III", "B-F2c")):

    @real_form(
        _id,
        title=f"Response times with and without backoff on the kernel, Trace-{_trace}",
        choices={**CHOICES, "minRTO": "1 s"},
    )
    def _congested(setting: Setting, trace: str = _trace, id: str = _id) -> Outcome:
        return congested(trace, "1s", setting, f"{id} real")


LENGTHS, FULL_LENGTHS = (0.05, 0.5, 2.0), (0.05, 0.1, 0.2, 0.5, 1.0, 2.0)


@real_form(
    "B-F4",
    title="Arrivals in bursts on the kernel",
    choices={
        **CHOICES,
        "minRTO": "0.2 s",
        "lengths": f"{', '.join(f'{x:g}' for x in LENGTHS)} s (with --full "
        f"{', '.join(f'{x:g}' for x in FULL_LENGTHS)} s)",
    },
)
def bursts(setting: Setting) -> Outcome:
    """B-F4: the ratio of 99th percentiles over the length of bursts."""
    lengths = FULL_LENGTHS if setting.full else LENGTHS
    seconds = (FULL if setting.full else SECONDS)["I"]
    ratios: dict[str, list[float]] = {KERNEL: [], TWIN: []}
    notes = []

    def load(length: float) -> ac.Web:
        arrivals = ac.arrivals.OnOff(on=f"{length}s", off=f"{length}s", periods="constant")
        return ac.Web(trace="I", load=testbed.OFFERED_MBIT / 10, arrivals=arrivals)

    pairs = together(
        {x: scenario(testbed.dumbbell(10), load(x), "200ms", seconds, setting) for x in lengths},
        setting,
        "B-F4 real",
        at_once=AT_ONCE,
    )
    for length, pair in pairs.items():
        for world, r in ((KERNEL, pair.kernel), (TWIN, pair.twin)):
            ratios[world].append(quantile(times(r, TCP), 0.99) / quantile(times(r, NONE), 0.99))
        notes += [f"{length:g} s: {line}" for line in described(pair) + pair.notes("testbed")]
    series = both(pairs[lengths[-1]])
    middle = {w: float(np.exp(np.mean(np.log(v)))) for w, v in ratios.items()}
    listed = {w: ", ".join(f"{x:.3g}" for x in v) for w, v in ratios.items()}
    checks = [between("P99 of TCP over TCP*(inf), geometric mean over the lengths", middle[KERNEL], 1.5, 2.5)]
    notes.insert(
        0, f"by length: {listed[KERNEL]} on the kernel, {listed[TWIN]} simulated ({middle[TWIN]:.3g})"
    )
    figure = ccdf_bands(
        series,
        title="Response times under bursts, on the kernel and simulated",
        subtitle=f"10 Mbit/s RED, Trace-I, load 1.2, minimum RTO 0.2 s; ON and OFF of {lengths[-1]:g} s",
        by="stack, world",
    )
    return Outcome(checks, {}, {"ccdf": figure}, notes)


@real_form(
    "B-F9a",
    title="Flows over two bottlenecks and over one, on the kernel, Trace-I",
    choices={**CHOICES, "minRTO": "0.2 s"},
)
def crossing(setting: Setting) -> Outcome:
    """B-F9a: two emulated bottlenecks in sequence."""
    seconds = (FULL if setting.full else SECONDS)["I"]
    pair = run(two.path(), two.workloads("I"), "200ms", seconds, setting, "B-F9a real")
    end = seconds + REST
    checks, notes = [], []
    series: dict[str, list[np.ndarray]] = {}
    for group in (two.FAR, two.NEAR):
        tcp, none = (mean(times(pair.kernel, stack, group), end) for stack in (TCP, NONE))
        checks.append(ratio(f"{group}: mean of TCP*(inf) over TCP", none, tcp, most=1.0))
        notes += [f"{group}: {line}" for line in described(pair, group=group)]
        series |= {f"{group}, {name}": v for name, v in both(pair, group=group).items() if KERNEL in name}
    figure = ccdf_bands(
        series,
        title="Response times over two bottlenecks and over one, on the kernel",
        subtitle="Two RED bottlenecks of 10 Mbit/s, RTT 10-200 ms, Trace-I, minimum RTO 0.2 s",
        by="way, stack",
    )
    return Outcome(checks, kept(pair), {"ccdf": figure}, notes + pair.notes("testbed"))


SHARES, FULL_SHARES = (0.1, 0.5, 0.9), (0.1, 0.3, 0.5, 0.7, 0.9)


def mixed(trace: str, setting: Setting, label: str) -> Outcome:
    """B-F12: a share of the sockets on linear timeouts."""
    shares = FULL_SHARES if setting.full else SHARES
    seconds = (FULL if setting.full else SECONDS)[trace]
    end = seconds + REST
    path, load = testbed.dumbbell(10), testbed.web(trace, 10)
    mixes = {
        share: scenario(path, load, "200ms", seconds, setting, mix={TCP: 1 - share, NONE: share})
        for share in shares
    }
    found = together(mixes, setting, label, at_once=AT_ONCE)
    means = {w: [mean(times(getattr(p, w), TCP), end) for p in found.values()] for w in ("kernel", "twin")}
    checks = [
        stated(
            "mean (s) of TCP does not fall with the share of linear timeouts",
            ", ".join(f"{100 * s:g} %: {m:.4g}" for s, m in zip(shares, means["kernel"], strict=True)),
            all(b >= a for a, b in zip(means["kernel"], means["kernel"][1:], strict=False)),
            "non-decreasing",
        )
    ]
    if trace == "I":
        checks += [
            ratio(
                f"{100 * s:g} %: mean of TCP over linear timeouts",
                mean(times(p.kernel, TCP), end),
                mean(times(p.kernel, NONE), end),
                least=1.0,
            )
            for s, p in found.items()
        ]
    notes = [
        "simulated, mean (s) of TCP: "
        + ", ".join(f"{100 * s:g} %: {m:.4g}" for s, m in zip(shares, means["twin"], strict=True))
    ]
    for s, p in found.items():
        notes += [f"{100 * s:g} %: {line}" for line in described(p) + p.notes("testbed")]
    series = {
        f"TCP beside {100 * s:g} %, {world}": [t[np.isfinite(t)]]
        for world, key in ((KERNEL, "kernel"), (TWIN, "twin"))
        for s in (shares[0], shares[-1])
        for t in [times(getattr(found[s], key), TCP)]
    }
    figure = ccdf_bands(
        series,
        title="TCP beside sockets on linear timeouts, on the kernel and simulated",
        subtitle=f"10 Mbit/s RED bottleneck, RTT 10-200 ms, web flows of Trace-{trace}, minimum RTO 0.2 s",
        by="share, world",
    )
    return Outcome(checks, {}, {"ccdf": figure}, notes)


for _trace, _id in (("I", "B-F12a"), ("II", "B-F12b"), ("III", "B-F12c")):

    @real_form(
        _id,
        title=f"A share of the kernel's sockets on linear timeouts, Trace-{_trace}",
        choices={
            **CHOICES,
            "minRTO": "0.2 s",
            "shares": f"{', '.join(f'{100 * s:g}' for s in SHARES)} % (with --full "
            f"{', '.join(f'{100 * s:g}' for s in FULL_SHARES)} %)",
        },
    )
    def _mixed(setting: Setting, trace: str = _trace, id: str = _id) -> Outcome:
        return mixed(trace, setting, f"{id} real")
