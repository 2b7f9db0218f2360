from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import numpy as np
import pyarrow as pa
from matplotlib.figure import Figure

import ackclock as ac
from ackclock.plot import style
from ackclock.reproduce.item import Check, Outcome, Setting, at_least, at_most, between, item
from ackclock.reproduce.mathis97 import phase

LIMIT = 15
PAPER = {"drop-tail": (133, 648), "RED": (430, 368)}
"""kbit/s."""


TIMEOUTS, CA = ((19, 55), (0, 3)), ((73, 133), (22, 60))
"""Of TCP1 and TCP2 with drop-tail: three standard errors about the counts of the paper's one run."""
RATIO, P_RATIO = (3.5, 6.5), (7, 21)
"""Of the bandwidths TCP2 over TCP1, and of p TCP1 over TCP2, with drop-tail."""


def middle(values: Iterable[float]) -> float:
    """The median over the starts."""
    return float(np.median(list(values)))


def checks(dt: list[phase.Column], red: list[phase.Column]) -> list[Check]:
    """The register's statements about table 2: medians over the starts."""
    out = [
        between("drop-tail: bandwidth of TCP2 over TCP1", middle(c.ratio for c in dt), *RATIO),
        between("drop-tail: p of TCP1 over TCP2", middle(p_ratio(c) for c in dt), *P_RATIO),
    ]
    for i, name in enumerate(phase.NAMES):
        out += [
            between(f"drop-tail: timeouts of {name}", middle(c.tcp[i].timeouts for c in dt), *TIMEOUTS[i]),
            between(f"drop-tail: CA events of {name}", middle(c.tcp[i].ca for c in dt), *CA[i]),
        ]
    pairs = list(zip(*(c.bandwidths for c in red), strict=True))
    errors = [max(c.errors(c.link_models) + c.errors(c.tcp_models)) for c in red]
    return [
        *out,
        at_most(
            "drop-tail: error of TCP2's TCP model",
            middle(c.errors(c.tcp_models)[1] for c in dt),
            0.08,
            "at most",
        ),
        at_least(
            "drop-tail: least error of the link models",
            middle(min(c.errors(c.link_models)) for c in dt),
            0.4,
            "at least",
        ),
        between("RED: bandwidths (kbit/s)", [middle(b) / 1e3 for b in pairs], 340, 460),
        at_most("RED: largest error of the four models", middle(errors), 0.12, "at most"),
        at_least(
            "RED: both together (kbit/s)",
            middle(c.bandwidth for c in red) / 1e3,
            middle(c.bandwidth for c in dt) / 1e3,
            "at least drop-tail's",
        ),
    ]


def p_ratio(c: phase.Column) -> float:
    """p of TCP1 over that of TCP2."""
    return c.tcp[0].p / c.tcp[1].p if c.tcp[1].ca else float("inf")


def like_the_paper(c: phase.Column, gains: int) -> bool:
    """Whether a run with drop-tail keeps to the register's statements with the connection `gains` (0 or 1) in
    the place of TCP2.
    """
    other = 1 - gains
    return (
        RATIO[0] <= c.bandwidths[gains] / c.bandwidths[other] <= RATIO[1]
        and P_RATIO[0] * c.tcp[gains].p <= c.tcp[other].p <= P_RATIO[1] * c.tcp[gains].p
        and all(
            CA[i][0] <= c.tcp[j].ca <= CA[i][1] and TIMEOUTS[i][0] <= c.tcp[j].timeouts <= TIMEOUTS[i][1]
            for i, j in enumerate((other, gains))
        )
        and c.errors(c.tcp_models)[gains] <= 0.08
        and min(c.errors(c.link_models)) >= 0.4
    )


def readings() -> dict[str, tuple[str, ac.Stack, dict[str, Any]]]:
    """What the paper leaves open, one thing changed at a time: queue, stack, and RED's parameters."""
    plain = phase.tcp()
    out: dict[str, tuple[str, ac.Stack, dict[str, Any]]] = {
        "as declared": ("drop-tail", plain, {}),
        "acks on a free 200 ms clock, as in BSD": (
            "drop-tail",
            plain.but(ack=ac.Delayed(ack_delay="0s", heartbeat="200ms")),
            {},
        ),
        "acks within 100 ms": ("drop-tail", plain.but(ack=ac.Delayed(ack_delay="100ms")), {}),
        "an ack per packet": ("drop-tail", plain.but(ack="every"), {}),
        "RFC 6298's timer": (
            "drop-tail",
            plain.but(estimator=ac.Rfc6298(initial_rto="3s"), timer=ac.timer.RestartOnAck()),
            {},
        ),
        "no timestamps": ("drop-tail", plain.but(timestamps=False, mss=f"{phase.PACKET - 40}B"), {}),
        "halves in bytes": (
            "drop-tail",
            plain.but(window=ac.window.Reno(initial_window="segments", initial_segs=1, byte_counting=False)),
            {},
        ),
        "with limited transmit": ("drop-tail", plain.but(recovery=ac.recovery.Sack()), {}),
        "RED as declared": ("RED", plain, {}),
        "RED with an ack per packet": ("RED", plain.but(ack="every"), {}),
    }
    for max_p in (0.01, 0.05, 0.1):
        out[f"RED with max_p {max_p:g}"] = ("RED", plain, {"max_p": max_p})
    out["RED, gentle"] = ("RED", plain, {"gentle": True})
    out["RED with w_q 0.001"] = ("RED", plain, {"w_q": 0.001})
    return out


def variants(setting: Setting, seeds: Iterable[int]) -> list[dict[str, Any]]:
    """Each reading with several starts."""
    jobs = {}
    for name, (kind, stack, changes) in readings().items():
        for seed in seeds:
            queue = phase.red(LIMIT, **changes) if kind == "RED" else phase.queue(kind, LIMIT)
            jobs[name, seed] = phase.scenario(queue, stack=stack, seed=seed)
    found = phase.columns(setting, jobs, "M-T2")
    return [
        {
            "reading": name,
            "start": seed,
            "TCP1": c.bandwidths[0],
            "TCP2": c.bandwidths[1],
            "ratio": c.ratio,
            "p1": c.tcp[0].p,
            "p2": c.tcp[1].p,
            "timeouts1": c.tcp[0].timeouts,
            "timeouts2": c.tcp[1].timeouts,
            "drops": c.line.dropped,
            "link_delay": c.line.delay,
            "link_error": max(c.errors(c.link_models)),
            "tcp_error1": c.errors(c.tcp_models)[0],
            "tcp_error2": c.errors(c.tcp_models)[1],
        }
        for (name, seed), c in found.items()
    ]


@item(
    "M-T2",
    kind="SIM",
    title="Table 2: phase effects with a queue of 15 packets",
    choices={
        **phase.CHOICES,
        "medians": "over the starts, which the paper does not state; its table is one run, hence three "
        "standard "
        "errors of each count",
        "readings": "each with 4 starts (20 with --full), drop-tail as declared with 20 (100)",
    },
)
def reproduce(setting: Setting) -> Outcome:
    """Drop-tail and RED at delta = 9.9 ms; then what is unstated, one thing changed at a time."""
    found = phase.columns(
        setting, {kind: phase.scenario(phase.queue(kind, LIMIT)) for kind in phase.QUEUES}, "M-T2"
    )
    rows = variants(setting, range(1, 21 if setting.full else 5))
    starts = range(1, 101 if setting.full else 21)
    all_starts = phase.columns(
        setting,
        {(k, n): phase.scenario(phase.queue(k, LIMIT), seed=n) for k in phase.QUEUES for n in starts},
        "M-T2",
    )
    many, randomised = ({n: all_starts[k, n] for n in starts} for k in phase.QUEUES)
    second, first = ([c.ratio for c in many.values() if (c.ratio > 1) == gains] for gains in (True, False))
    notes = phase.lines(found)
    notes.append(
        f"{len(many)} starts, drop-tail as declared: all that is checked holds in "
        f"{sum(like_the_paper(c, 1) for c in many.values())}, and in "
        f"{sum(like_the_paper(c, 0) for c in many.values())} with the connections exchanged; TCP2 "
        f"gains in {len(second)}, {min(second):.2f} to {max(second):.2f} times TCP1's bandwidth, TCP1 "
        f"in {len(first)}, {1 / max(first):.2f} to {1 / min(first):.2f} times TCP2's"
    )
    for name in readings():
        mine = [r for r in rows if r["reading"] == name]
        notes.append(
            f"{name}, {len(mine)} starts: TCP2/TCP1 {_range(mine, 'ratio', '.2f')}, p1/p2 "
            f"{_range([{'x': r['p1'] / r['p2']} for r in mine], 'x', '.1f')}, timeouts of TCP1 "
            f"{_range(mine, 'timeouts1', 'd')}, error of TCP2's model "
            f"{_range(mine, 'tcp_error2', '.0%')}"
        )
    shares = [
        {"start": seed, "TCP1": c.bandwidths[0], "TCP2": c.bandwidths[1], "ratio": c.ratio}
        for seed, c in many.items()
    ]
    tables = {
        "table": pa.table(phase.table(found)),
        "starts": pa.Table.from_pylist(shares),
        "readings": pa.Table.from_pylist(rows),
    }
    ranges = {
        "TCP2/TCP1": [c.ratio for c in many.values()],
        "p1/p2": [p_ratio(c) for c in many.values()],
        "timeouts of TCP1": [c.tcp[0].timeouts for c in many.values()],
        "of TCP2": [c.tcp[1].timeouts for c in many.values()],
        "CA events of TCP1": [c.tcp[0].ca for c in many.values()],
        "of TCP2 ": [c.tcp[1].ca for c in many.values()],
    }
    notes.append(
        "drop-tail, ranges over the starts: "
        + ", ".join(f"{name.strip()} {min(v):.3g} to {max(v):.3g}" for name, v in ranges.items())
    )
    judged = checks(list(many.values()), list(randomised.values()))
    return Outcome(judged, tables, {"bandwidths": picture(found, PAPER, LIMIT)}, notes)


def _range(rows: list[dict[str, Any]], name: str, form: str) -> str:
    values = [r[name] for r in rows]
    return f"{format(min(values), form)} to {format(max(values), form)}"


def picture(found: dict[str, phase.Column], paper: dict[str, tuple[float, float]], limit: int) -> Figure:
    """Measured bandwidths beside both models and the paper's."""
    fig, axes = style.figure(
        "Link statistics predict bandwidths where drops are at random",
        f"Two SACK TCPs over 800 kbit/s, delta = {phase.DELTA:g} ms, queue of {limit} packets, "
        f"{phase.SECONDS} s",
    )
    groups = [(kind, i) for kind in found for i in range(2)]
    at = range(len(groups))
    bars = {
        "measured": [found[kind].bandwidths[i] / 1e3 for kind, i in groups],
        "model from the connection's own counts": [found[kind].tcp_models[i] / 1e3 for kind, i in groups],
        "model from the link's statistics": [found[kind].link_models[i] / 1e3 for kind, i in groups],
    }
    for n, (name, values) in enumerate(bars.items()):
        style_ = {"color": style.COLOURS[n], "hatch": ("", "//", "..")[n], "edgecolor": "white"}
        axes.bar([x + 0.26 * (n - 1) for x in at], values, 0.24, label=name, **style_)
    axes.plot(
        [x - 0.26 for x in at],
        [paper[kind][i] for kind, i in groups],
        "k*",
        markersize=9,
        linestyle="none",
        label="measured in the paper",
    )
    axes.set_xticks(list(at), [f"{kind}\n{phase.NAMES[i]}" for kind, i in groups])
    axes.set(ylabel="bandwidth (kbit/s)", ylim=(0, 1.12 * max(max(v) for v in bars.values())))
    axes.grid(True, axis="y")
    axes.legend(loc="upper right", fontsize=9)
    return fig
