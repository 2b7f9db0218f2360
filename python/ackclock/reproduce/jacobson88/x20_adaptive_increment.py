from __future__ import annotations

from itertools import product
from typing import Any

import numpy as np
import pyarrow as pa

import ackclock as ac
from ackclock.plot import style
from ackclock.reproduce.item import Outcome, Setting, item
from ackclock.reproduce.jacobson88 import senders
from ackclock.results.confidence import half_width

PIPES, LARGEST = (4, 16, 64, 200), 1000
"""Packets, the one being sent included; the largest with --full."""
ROUND_TRIP = 0.1
GATEWAYS = {"knee": lambda pipe: 2, "drop-tail": lambda pipe: max(pipe, 4)}
"""Packets that wait at most."""
ADAPTIVE = "adaptive u"
RULES = {
    "u = 1": senders.slow_start(),
    "u = 1/4": senders.slow_start(increase_segs=0.25),
    ADAPTIVE: ac.window.AdaptiveIncrease(initial_window="segments", initial_segs=1),
}
LEGEND = {"knee": "drops at the knee", "drop-tail": "drop-tail"}
SEEDS, WARM, SECONDS = 10, 50, 200
JOINS, LEAVES = 0.4, 0.7
"""When the second transfer begins and ends, of the whole time."""


def scenario(pipe: int, gateway: str, seed: int, seconds: float) -> ac.Scenario:
    """A transfer that is joined by another for a while: a step of the load up and one down."""
    rate = pipe * 8 * senders.PACKET / ROUND_TRIP
    stacks = {
        name: senders.new(8 * max(pipe, 8), recovery="sack", window=rule, sack=True, window_scaling=True)
        for name, rule in RULES.items()
    }
    spread = f"{20 * ROUND_TRIP}s"
    flows = [
        ac.Bulk(name="first", spread=spread),
        ac.Bulk(
            name="second",
            start=f"{WARM + JOINS * seconds:.1f}s",
            stop=f"{WARM + LEAVES * seconds:.1f}s",
            spread=spread,
        ),
    ]
    delay = (ROUND_TRIP - 8 * senders.PACKET / rate) / 2
    path = ac.Single(senders.line(rate, delay, GATEWAYS[gateway](pipe)))
    return ac.Scenario.of(
        path, flows, stacks, seed=seed, duration=f"{WARM + seconds}s", measure_from=f"{WARM}s", series="1s"
    )


def read(run: Any, name: str, pipe: int, seconds: float) -> dict[str, float]:
    """Drops, use of the line, the time until the second transfer has 40 % of both, and the use of the line in
    the 30 s after the second one has left.
    """
    link = next(x for x in run.links.to_pylist() if x["run"] == name and x["name"] == "link")
    flows = {f["flow"]: f["group"] for f in run.flows.to_pylist() if f["run"] == name}
    size = int(WARM + seconds) + 2
    got = {g: np.zeros(size) for g in ("first", "second")}
    for r in run.traces["flow_series"].to_pylist():
        if r["run"] == name:
            got[flows[r["flow"]]][min(round(r["time"]), size - 1)] += r["bytes_delivered"]
    begin = next(f["start"] for f in run.flows.to_pylist() if f["run"] == name and f["group"] == "second")
    end = WARM + LEAVES * seconds
    window = np.ones(10)
    first, second = (np.convolve(g, window, "full")[:size] for g in got.values())
    t = np.arange(size)
    fair = np.flatnonzero((t > begin) & (t < end) & (second >= 0.4 * (first + second)))
    after = got["first"][round(end) + 2 : round(end) + 32].mean() / senders.DATA * ROUND_TRIP / pipe
    return {
        "drops": link["dropped_queue"] / link["packets_offered"],
        "utilisation": link["utilisation"],
        "fair": float(t[fair[0]] - begin) if fair.size else end - begin,
        "after": float(after),
    }


@item(
    "J-X20",
    kind="SIM",
    title="Does an increment that adapts to the path beat a fixed one?",
    choices={
        "packets": senders.CHOICES["packets"],
        "adaptive u": "the policy `adaptive-increase`: at each loss u is multiplied by the root of the round "
        "trips since the last one over 16, within 1/2 and 2, and it doubles where none comes; a stand-in, "
        "since "
        "the paper announces the control and gives none",
        "path": f"{ROUND_TRIP:g} s there and back, pipes of {', '.join(map(str, PIPES))} packets "
        f"({LARGEST} too with --full); a "
        f"gateway that "
        "drops what would make its queue longer than 2 packets (knee), or drop-tail of a pipe",
        "repair": "SACK, an ack for each packet, d = 0.5",
        "load steps": "a second transfer joins after 40 % of the time and leaves after 70 %",
        "fair": "the second has 40 % of what both get over 10 s; otherwise the time that it has counts",
        "intervals": f"95 % over {SEEDS} seeds of {SECONDS} s (3000 s with --full) after {WARM} s",
    },
)
def reproduce(setting: Setting) -> Outcome:
    """Three increments over five pipes and two gateways."""
    seconds = 3000.0 if setting.full else float(SECONDS)
    seeds = range(1, SEEDS + 1)
    pipes = (*PIPES, LARGEST) if setting.full else PIPES
    jobs = list(product(pipes, GATEWAYS, seeds))
    runs = setting.run_all([scenario(*job, seconds) for job in jobs], "J-X20")
    found: dict[Any, list[dict[str, float]]] = {}
    for (pipe, gateway, _), run in zip(jobs, runs, strict=True):
        for name in RULES:
            found.setdefault((gateway, pipe, name), []).append(read(run, name, pipe, seconds))
    rows = [
        {"gateway": g, "pipe": p, "rule": name}
        | {k: float(np.mean([r[k] for r in of])) for k in of[0]}
        | {f"{k}_half": half_width([r[k] for r in of]) for k in of[0]}
        for (g, p, name), of in found.items()
    ]
    notes = [
        f"{r['gateway']}, pipe of {r['pipe']}, {r['rule']}: {100 * r['drops']:.3f} +/- "
        f"{100 * r['drops_half']:.3f} % dropped, utilisation {r['utilisation']:.3f} +/- "
        f"{r['utilisation_half']:.3f}, fair after {r['fair']:.0f} +/- {r['fair_half']:.0f} s, "
        f"{100 * r['after']:.0f} % of the line in the 30 s after the second left"
        for r in rows
    ]
    at = {(r["gateway"], r["pipe"], r["rule"]): r for r in rows}
    parts = []
    for g, p in (("knee", pipes[0]), ("knee", pipes[-1]), ("drop-tail", pipes[-1])):
        words = ", ".join(
            f"{name} {100 * at[g, p, name]['drops']:.2f} % dropped, "
            f"{100 * at[g, p, name]['utilisation']:.0f} % "
            f"used, fair after {at[g, p, name]['fair']:.0f} s"
            for name in RULES
        )
        parts.append(f"{g}, pipe of {p}: {words}")
    fixed = [name for name in RULES if name != ADAPTIVE]
    cells = list(product(GATEWAYS, pipes))
    better = [
        f"{g} with a pipe of {p}"
        for g, p in cells
        if all(
            at[g, p, ADAPTIVE]["drops"] <= at[g, p, name]["drops"]
            and at[g, p, ADAPTIVE]["utilisation"] >= at[g, p, name]["utilisation"] - 0.01
            for name in fixed
        )
    ]
    answer = (
        f"{'Not in general' if len(better) < len(cells) else 'Yes'}: it drops no more than either fixed u "
        f"and uses as "
        f"much of the line in {len(better)} of {len(cells)} cases ({', '.join(better) or 'none'}). "
        f"{'; '.join(parts)}. "
        "Sure for this one rule over ten seeds; another second-order rule may do better."
    )
    fig, axes = style.figure(
        "Use of the line by window increment",
        "u: packets per round trip; the gateway drops at the knee, or holds a bandwidth-delay product",
    )
    for i, name in enumerate(RULES):
        for gateway, dash in (("knee", "-"), ("drop-tail", "--")):
            of = [at[gateway, p, name] for p in pipes]
            axes.errorbar(
                pipes,
                [r["utilisation"] for r in of],
                yerr=[r["utilisation_half"] for r in of],
                marker="o",
                markersize=4,
                capsize=2,
                label=f"{name}, {LEGEND[gateway]}",
                color=style.COLOURS[i],
                linestyle=dash,
            )
    axes.set(
        xscale="log",
        xlabel="bandwidth-delay product (packets)",
        ylabel="share of the line used",
        ylim=(0, 1.02),
    )
    axes.grid(True)
    axes.legend(loc="lower left", fontsize=9)
    return Outcome([], {"increments": pa.Table.from_pylist(rows)}, {"utilisation": fig}, notes, answer)
