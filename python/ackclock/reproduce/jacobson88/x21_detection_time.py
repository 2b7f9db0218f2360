from __future__ import annotations

from itertools import product
from typing import Any

import numpy as np
import pyarrow as pa
from matplotlib.patheffects import withStroke

import ackclock as ac
from ackclock.plot import style
from ackclock.reproduce.item import Outcome, Setting, item
from ackclock.reproduce.jacobson88 import senders
from ackclock.results.confidence import half_width

RATE, DELAY, PIPE = 1e6, 0.05, 24
ROUND_TRIP = 0.1 + 8 * senders.PACKET / RATE
TIMES = (0.1, 0.3, 1.0, 3.0, 10.0)
"""Averaging times, round-trip times."""
FLOWS, JOINING = 4, 4
STEP, END = 100.0, 130.0
LOOK = 0.005
"""Seconds between looks at the queue."""
SEEDS = 10
THRESHOLD = 12
"""Packets on average at which congestion is detected: half of the pipe."""
BURST = 24
"""Packets of a burst that passes within a round trip and needs no signal."""


def scenario(seed: int, load: bool) -> ac.Scenario:
    """Constant sources below the line's rate, with bursts, and from `STEP` on a growing load if wanted. The
    gateway holds whatever comes: what is asked is when it sees it.
    """
    packet = f"{senders.PACKET}B"
    share = 0.5 * RATE / FLOWS
    steady = ac.UdpOnOff(
        name="steady",
        flows=FLOWS,
        rate=f"{2 * share:.0f}bit/s",
        bytes=packet,
        on="100ms",
        off="100ms",
        periods="exponential",
    )
    bursts = ac.UdpOnOff(
        name="bursts",
        rate="10Mbit/s",
        bytes=packet,
        on=f"{1e3 * BURST * 8 * senders.PACKET / 10e6:.1f}ms",
        off="5s",
        periods="exponential",
    )
    flows: list[Any] = [steady, bursts]
    if load:
        # New transfers in slow-start: the growth of J-E10.
        flows.append(ac.Bulk(name="joining", flows=JOINING, start=f"{STEP}s", spread="100ms", stack="new"))
    # Room for all that comes.
    path = ac.Single(senders.line(RATE, DELAY, 100_000))
    stacks = {"new": senders.new(1000, window_scaling=True)}
    if not load:
        flows.append(ac.Fixed(name="nothing", size="1B", stack="new"))
    return ac.Scenario.of(path, flows, stacks, seed=seed, duration=f"{END}s", series=f"{1e3 * LOOK:g}ms")


def queue(run: Any) -> tuple[np.ndarray, np.ndarray]:
    """Times, and packets waiting at each, the one being sent not counted."""
    rows = [r for r in run.traces["link_series"].to_pylist() if r["link"] == 0]
    return np.array([r["time"] for r in rows]), np.array([r["queue_packets"] for r in rows], float)


def average(q: np.ndarray, over: float) -> np.ndarray:
    """RED's average: exponential with that time constant, round-trip times."""
    weight = 1 - np.exp(-LOOK / (over * ROUND_TRIP))
    out, a = np.empty_like(q), 0.0
    for i, x in enumerate(q.tolist()):
        a += weight * (x - a)
        out[i] = a
    return out


def regeneration(q: np.ndarray) -> np.ndarray:
    """The average over the last busy period and the present one, as DECbit's gateways have it (between points
    at which the queue is empty).
    """
    out = np.empty_like(q)
    total = count = last_total = last_count = 0.0
    for i, x in enumerate(q.tolist()):
        if x <= 0 and count and total:
            last_total, last_count, total, count = total, count, 0.0, 0.0
        total, count = total + x, count + 1
        out[i] = (total + last_total) / (count + last_count)
    return out


def codel(q: np.ndarray, interval: float) -> np.ndarray:
    """The least queue of the last interval (round-trip times), whose standing above the threshold CoDel
    waits for.
    """
    n = max(round(interval * ROUND_TRIP / LOOK), 1)
    padded = np.concatenate([np.zeros(n - 1), q])
    return np.lib.stride_tricks.sliding_window_view(padded, n).min(axis=1)


DETECTORS = {
    **{f"average over {t:g} RTT": (lambda q, t=t: average(q, t)) for t in TIMES},
    "between regeneration points": regeneration,
    **{f"least of {t:g} RTT": (lambda q, t=t: codel(q, t)) for t in (0.3, 1.0, 3.0)},
}


@item(
    "J-X21",
    kind="SIM",
    title="How soon must a gateway detect congestion, and how soon can it?",
    choices={
        "packets": senders.CHOICES["packets"],
        "path": f"{RATE / 1e6:g} Mbit/s, {1e3 * DELAY:g} ms one way, a pipe of {PIPE} packets; the "
        f"gateway holds "
        "all that comes, so that detection alone is seen",
        "load": f"datagrams of half of the line on average and bursts of {BURST} packets every 5 s; at "
        f"{STEP:g} s {JOINING} transfers begin in slow-start, whose load doubles each round trip (J-E10)",
        "detectors": "the queue averaged as RED does over 0.1 to 10 round trips; averaged over the last busy "
        "period and this one, as DECbit's gateways do; its least over a time, as CoDel asks",
        "detected": f"the detector's value reaches {THRESHOLD} packets, half of the pipe",
        "cut needed": "the part of the arrival rate in the round trip after detection by which it exceeds "
        "the "
        "line's",
        "false alarms": f"times that it passes the threshold upwards in {STEP - 10:g} s without the "
        f"transfers",
        "intervals": f"95 % over {SEEDS} seeds (30 with --full)",
    },
)
def reproduce(setting: Setting) -> Outcome:
    """Nine detectors over the same queues."""
    seeds = range(1, (30 if setting.full else SEEDS) + 1)
    jobs = list(product(seeds, (True, False)))
    runs = dict(zip(jobs, setting.run_all([scenario(*job) for job in jobs], "J-X21"), strict=True))
    found: dict[str, list[dict[str, float]]] = {name: [] for name in DETECTORS}
    for seed in seeds:
        t, q = queue(runs[seed, True])
        _, calm = queue(runs[seed, False])
        for name, of in DETECTORS.items():
            seen = of(q)
            at = np.flatnonzero((t > STEP) & (seen >= THRESHOLD))
            k = int(at[0]) if at.size else t.size - 1
            later = min(k + round(ROUND_TRIP / LOOK), q.size - 1)
            growth = max(q[later] - q[k], 0.0) / (ROUND_TRIP * RATE / 8 / senders.PACKET)
            quiet = of(calm)[t < STEP]
            alarms = int(((quiet[1:] >= THRESHOLD) & (quiet[:-1] < THRESHOLD)).sum())
            found[name].append(
                {
                    "delay": (t[k] - STEP) / ROUND_TRIP,
                    "queue": float(q[k]),
                    "cut": growth / (1 + growth),
                    "alarms": 100 * alarms / STEP,
                }
            )
    rows = [
        {"detector": name}
        | {k: float(np.mean([r[k] for r in of])) for k in of[0]}
        | {f"{k}_half": half_width([r[k] for r in of]) for k in of[0]}
        for name, of in found.items()
    ]
    notes = [
        f"{r['detector']}: {r['delay']:.1f} +/- {r['delay_half']:.1f} round trips after the load begins, "
        f"queue "
        f"{r['queue']:.0f} +/- {r['queue_half']:.0f} packets, cut needed {100 * r['cut']:.0f} +/- "
        f"{100 * r['cut_half']:.0f} %, {r['alarms']:.1f} +/- {r['alarms_half']:.1f} false alarms in 100 s"
        for r in rows
    ]
    fast, slow = rows[0], rows[len(TIMES) - 1]
    one = rows[TIMES.index(1.0)]
    answer = (
        "Sooner costs false alarms, with no averaging time that has neither: over a tenth of a round trip "
        "a gateway "
        f"sees the load after {fast['delay']:.1f} round trips with a queue of {fast['queue']:.0f} packets "
        f"and "
        f"{fast['alarms']:.0f} false alarms in 100 s, over one after {one['delay']:.1f} with "
        f"{one['queue']:.0f} and "
        f"{one['alarms']:.0f}, over {TIMES[-1]:g} after {slow['delay']:.1f} with {slow['queue']:.0f} and "
        f"{slow['alarms']:.0f}; the cut needed grows from {100 * fast['cut']:.0f} to "
        f"{100 * slow['cut']:.0f} %. "
        "Sure for this load and these bursts; how many false alarms there are depends on both."
    )
    fig, axes = style.figure(
        "Delay of detection against false alarms",
        f"By what watches the queue; four transfers join at a gateway with bursts; {len(seeds)} seeds",
    )
    for i, r in enumerate(rows):
        kind = 0 if i < len(TIMES) else 1 if i == len(TIMES) else 2
        axes.errorbar(
            [r["delay"]],
            [r["alarms"]],
            xerr=[r["delay_half"]],
            yerr=[r["alarms_half"]],
            marker="osD"[kind],
            color=style.COLOURS[kind],
            capsize=2,
        )
        axes.annotate(
            r["detector"].replace("least of", "minimum over"),
            (r["delay"], r["alarms"]),
            # Averages and leasts lie close to each other.
            (-5, 4) if kind == 0 else (5, -11),
            textcoords="offset points",
            ha="right" if kind == 0 else "left",
            fontsize=8,
            # Readable across the bars of its neighbours.
            path_effects=[withStroke(linewidth=2.5, foreground="white")],
            zorder=5,
        )
    axes.set(
        xlabel="detected after the load begins (round trips)", ylabel="false alarms in 100 s", ylim=(0, None)
    )
    axes.grid(True)
    return Outcome([], {"detectors": pa.Table.from_pylist(rows)}, {"detectors": fig}, notes, answer)
