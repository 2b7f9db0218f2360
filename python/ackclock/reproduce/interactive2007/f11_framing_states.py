from __future__ import annotations

import math
from dataclasses import dataclass

import matplotlib as mpl
import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from matplotlib.figure import Figure

import ackclock as ac
from ackclock.models import interactive2007 as i
from ackclock.plot import style
from ackclock.reproduce.interactive2007 import testbed
from ackclock.reproduce.item import Check, Outcome, Setting, item, six_digits, stated
from ackclock.results import Run

LOSSES = (0.01, 0.05, 0.1, 0.2)
"""Of small segments: the register's points of I-E15."""
THINK = 300.0
"""Seconds between packets on average, so that hardly any is sent while the one before it is being
repaired.
"""
PACKETS, FULL_SEEDS = 20_000, 5
SIGMAS = 3.0
"""Standard deviations of a binomial share that a frequency may lie from its probability (I-F11)."""
FORM = {
    "S to S": i.framed_success,
    "S to FR": i.framed_recovery,
    "S to TO": i.framed_timeout,
    "FR to TO": lambda ps: ps,
    "TO to TO": lambda ps: ps,
}
"""Transitions of the chain, and their probabilities by the loss of small segments (I-E15); FR and TO go back
to S otherwise.
"""

STATES = {"S": "success", "FR": "fast recovery", "TO": "timeout"}


@dataclass(frozen=True)
class Share:
    """How often a state was left one way, and how often it was left."""

    count: int
    of: int

    @property
    def value(self) -> float:
        """The frequency."""
        return self.count / self.of if self.of else math.nan

    def sigma(self, p: float) -> float:
        """Standard deviation of the frequency where the probability is p."""
        return math.sqrt(p * (1 - p) / self.of) if self.of else math.inf


def scenario(ps: float, seed: int, packets: int) -> ac.Scenario:
    """One flow with Smart Framing on a path that loses segments at random."""
    stack = testbed.tcp("sack+no-limited-transmit+smart-framing")
    return testbed.scenario(
        testbed.dumbbell(testbed.DROP_TAIL_BYTES, loss=ps),
        testbed.telnet(1, think=THINK, packets=packets),
        {"TCP-SF": stack},
        THINK,
        seed=seed,
        # As long as the packets need, to spare; the flow closes after the last.
        duration=f"{1.5 * packets * THINK:.0f}s",
        trace=["episodes"],
    )


def transitions(run: Run) -> dict[str, Share]:
    """Frequencies of the transitions.

    An episode that begins with duplicate acks is FR, any other TO. One that sees no timeout is FR alone;
    those that begin as FR and time out are the rest of all recoveries. An expiry that another follows without
    progress stays in TO.
    """
    (flow,) = run.flows.filter(pc.equal(run.flows["group"], "telnet")).to_pylist()
    episodes = run.traces["episodes"]
    recoveries, packets = flow["fast_recoveries"], flow["responses"]
    repaired = pc.sum(pc.equal(episodes["timeouts"], 0)).as_py() or 0
    timed_out = episodes.num_rows - recoveries
    rounds = flow["timeouts_by_round"]
    return {
        "S to S": Share(packets - episodes.num_rows, packets),
        "S to FR": Share(recoveries, packets),
        "S to TO": Share(timed_out, packets),
        "FR to TO": Share(recoveries - repaired, recoveries),
        "TO to TO": Share(sum(rounds[1:]), sum(rounds)),
    }


def added(found: list[dict[str, Share]]) -> dict[str, Share]:
    """The counts of several runs together."""
    return {name: Share(sum(f[name].count for f in found), sum(f[name].of for f in found)) for name in FORM}


def judged(ps: float, found: dict[str, Share]) -> list[Check]:
    """Whether each frequency lies within `SIGMAS` of its probability."""
    checks = []
    for name, share in found.items():
        p = float(FORM[name](ps))
        away = (share.value - p) / share.sigma(p)
        got = f"{share.value:.5g} ({share.count} of {share.of}), {away:+.2f} sigma"
        checks.append(
            stated(f"ps = {ps:g}: {name}", got, abs(away) <= SIGMAS, f"{p:.5g} within {SIGMAS:g} sigma")
        )
    return checks


@item(
    "I-F11",
    kind="CF, SIM",
    title="The states of Smart Framing: success, fast recovery, timeout",
    choices={
        "path": "the default dumbbell with nothing else on it; the artificial loss module takes each data "
        "segment by itself",
        "flow": f"one telnet flow of {testbed.PAYLOAD}-byte packets, {THINK:g} s apart on average rather "
        "than 1 s: the chain has no packet that is sent while the one before it is being repaired "
        "(at 60 s some were, and a frequency was 3.6 sigma off)",
        "TCP": "; ".join(testbed.CHOICES[k] for k in ("TCP", "window", "acks", "timer")),
        "FR": "an episode that duplicate acks begin, TO any other; FR to TO: such an episode with a "
        "timeout; TO to TO: an expiry that another one follows without progress between",
        "random numbers": f"seed 1 (1 to {FULL_SEEDS}, added up, with --full)",
        "packets": f"{PACKETS:,} for each loss and seed",
    },
    points_at=[
        "stack sack+smart-framing",
        "formula framed-success",
        "formula framed-recovery",
        "formula framed-timeout",
    ],
    tests=["tests/test_reproduce_interactive2007_framing.py::test_whole_packets_have_no_fast_recovery"],
)
def reproduce(setting: Setting) -> Outcome:
    """The formulas at reference points, and how often a simulated flow takes each transition."""
    points = np.array(LOSSES)
    checks: list[Check] = [
        six_digits(
            "p(S,FR) at ps = 0.01, 0.05, 0.1, 0.2",
            i.framed_recovery(points),
            [0.00970299, 0.0428687, 0.0729, 0.1024],
        ),
        six_digits("p(S,TO) at the same", i.framed_timeout(points), [0.0297010, 0.142625, 0.271, 0.488]),
    ]
    seeds = range(1, (FULL_SEEDS if setting.full else 1) + 1)
    runs = iter(setting.run_all([scenario(ps, seed, PACKETS) for ps in LOSSES for seed in seeds], "I-F11"))
    found = {ps: added([transitions(next(runs)) for _ in seeds]) for ps in LOSSES}
    checks += [c for ps, shares in found.items() for c in judged(ps, shares)]
    rows = [
        {
            "ps": ps,
            "transition": name,
            "count": s.count,
            "of": s.of,
            "frequency": s.value,
            "probability": float(FORM[name](ps)),
        }
        for ps, shares in found.items()
        for name, s in shares.items()
    ]
    return Outcome(checks, {"transitions": pa.Table.from_pylist(rows)}, {"transitions": picture(found)})


def picture(found: dict[float, dict[str, Share]]) -> Figure:
    """Probabilities as lines, frequencies as points with bars of three sigma."""
    words = f"Lines: the paper's probabilities; points: a flow, bars: {SIGMAS:g} standard deviations"
    fig, axes = style.figure("One packet as four small segments", words)
    with mpl.rc_context(style.SETTINGS):
        fine = np.linspace(0, 0.22, 100)
        for k, name in enumerate(FORM):
            look, shares = style.line(k), [(ps, s[name]) for ps, s in found.items()]
            bars = [SIGMAS * s.sigma(float(FORM[name](ps))) for ps, s in shares]
            axes.plot(
                fine, FORM[name](fine), label=" to ".join(STATES[s] for s in name.split(" to ")), **look
            )
            axes.errorbar(
                [ps for ps, _ in shares],
                [s.value for _, s in shares],
                yerr=bars,
                color=look["color"],
                linestyle="none",
                marker="o",
                markersize=4,
            )
        axes.set(
            xlabel="loss of small segments",
            ylabel="share of the transitions from a state",
            xlim=(0, 0.22),
            ylim=(0, 1),
        )
        axes.grid(True)
        axes.legend(loc="upper right", fontsize=9, handlelength=2.6)
    return fig
