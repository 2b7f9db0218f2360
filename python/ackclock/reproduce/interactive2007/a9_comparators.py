from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import pyarrow as pa

import ackclock as ac
from ackclock.plot.sweeps import sweeps
from ackclock.reproduce.interactive2007 import seen, testbed
from ackclock.reproduce.interactive2007.seen import Seen
from ackclock.reproduce.item import Check, Outcome, Setting, item, stated
from ackclock.results import Run
from ackclock.results.confidence import half_width
from ackclock.results.summary import response_times

LOSSES = (0.02, 0.05, 0.1)
BASE = "sack+no-limited-transmit"
PLAIN, EARLY, TLP = "SACK", "Early Retransmit", "RACK-TLP"
STACKS = {PLAIN: BASE, EARLY: f"{BASE}+early-retransmit", TLP: f"{BASE}+rack"}
PADDED, PADDED_TWO, PADDED_TLP, COPIES = "II: padding", "II, threshold 2", "II, RACK-TLP", "III: diversity"
DUMMY = 20
"""Payload of a dummy; response times are those of larger packets."""
FLOWS = 20
SECONDS, SEEDS, FULL_SEEDS = 60.0, 3, 10
LOAD = 0.2
"""Of short transfers: they hardly meet in the queue."""
GROUP = "measured"


@dataclass(frozen=True)
class Case:
    """What an interactive flow does about losses."""

    preset: str
    padded: bool = False

    def scenario(self, p: float, seed: int, seconds: float) -> ac.Scenario:
        """So many flows on a path with this loss."""
        kind = ac.Padded if self.padded else ac.Telnet
        flows = kind(
            name=GROUP,
            flows=FLOWS,
            think=f"{testbed.THINK:g}s",
            bytes=f"{testbed.PAYLOAD}B",
            **testbed.measured(),
        )
        return testbed.scenario(
            testbed.dumbbell(testbed.DROP_TAIL_BYTES, loss=p),
            flows,
            {"x": testbed.tcp(self.preset)},
            seconds,
            seed=seed,
            trace=["packets"],
        )


CASES = {
    **{name: Case(preset) for name, preset in STACKS.items()},
    PADDED: Case(BASE, padded=True),
    PADDED_TWO: Case(f"{BASE}+dup-thresh(2)", padded=True),
    PADDED_TLP: Case(f"{BASE}+rack", padded=True),
    COPIES: Case(f"{BASE}+diversity(2)"),
}


def transfers(name: str, p: float, seed: int, seconds: float) -> ac.Scenario:
    """Short transfers, one connection each, on a path with this loss."""
    web = ac.Web(name=GROUP, trace="I", load=LOAD)
    path = testbed.dumbbell(testbed.DROP_TAIL_BYTES, loss=p)
    return ac.Scenario.of(
        path, web, {name: testbed.tcp(STACKS[name])}, seed=seed, duration=f"{seconds:g}s", drain="300s"
    )


def interactive(setting: Setting, seeds: range) -> list[dict[str, Any]]:
    """A row for each case, loss and seed: latency, what found the losses, and bytes on the way for each
    packet.
    """
    seconds = testbed.FULL if setting.full else SECONDS
    jobs = {
        (name, p, seed): case.scenario(p, seed, seconds)
        for name, case in CASES.items()
        for p in LOSSES
        for seed in seeds
    }

    def reader(key: tuple[str, float, int], run: Run) -> tuple[Seen, float]:
        found = seen.read(run, GROUP, larger=DUMMY)
        return found, run.links.to_pylist()[0]["bytes"] / found.own.size

    return [
        {
            "case": name,
            "p": p,
            "seed": seed,
            "latency": s.mean,
            "timeouts": s.timeouts / s.own.size,
            "bytes": sent,
        }
        for (name, p, seed), (s, sent) in seen.each(setting, jobs, reader, "I-A9", share=(0.0, 0.9)).items()
    ]


def short(setting: Setting, seeds: range, share: tuple[float, float]) -> list[dict[str, Any]]:
    """A row for each stack, loss and seed: mean and 99th percentile of the response times of short
    transfers.
    """
    seconds = testbed.FULL if setting.full else SECONDS / 3
    keys = [(name, p, seed) for name in STACKS for p in LOSSES for seed in seeds]
    rows = []
    for run, (name, p, seed) in zip(
        setting.run_all([transfers(*k, seconds) for k in keys], "I-A9", share), keys, strict=True
    ):
        times = response_times(run.flows)
        rows.append(
            {
                "case": name,
                "p": p,
                "seed": seed,
                "mean": float(times.mean()),
                "p99": float(np.percentile(times, 99)),
            }
        )
    return rows


def of(rows: list[dict[str, Any]], case: str, p: float, what: str) -> np.ndarray:
    """A number of a case at a loss ratio, by seed."""
    return np.array([r[what] for r in rows if (r["case"], r["p"]) == (case, p)])


def judged(rows: list[dict[str, Any]]) -> list[Check]:
    """Whether what finds losses sooner has fewer timeouts."""
    checks = []
    for better, worse in ((TLP, PLAIN), (EARLY, PLAIN), (PADDED_TWO, PADDED), (PADDED_TLP, PADDED)):
        fewer = [
            (of(rows, better, p, "timeouts").mean(), of(rows, worse, p, "timeouts").mean()) for p in LOSSES
        ]
        got = ", ".join(f"{100 * a:.3g} and {100 * b:.3g}" for a, b in fewer)
        checks.append(
            stated(
                f"{better}: fewer timeouts than {worse} (per 100 packets)", got, all(a < b for a, b in fewer)
            )
        )
    return checks


@item(
    "I-A9",
    kind="RULE, SIM",
    title="Comparators: limited transmit, early retransmit, fewer duplicate acks, and what came later "
    "(RACK-TLP)",
    choices={
        **{key: text for key, text in testbed.CHOICES.items() if key != "cross traffic"},
        **seen.CHOICES,
        "not in this project": "ECN marking of control packets, TCP/SAReno: which was optional",
        "window decay after idling": "`idle_restart`: the restart window after a timeout's idling (RFC "
        "5681 4.1); RFC 2861's gradual decay is obsolete (RFC 7661)",
        "compared": "interactive flows with random loss, one remedy at a time, and together; RACK-TLP (RFC "
        "8985) is what a stack does today",
        "probe": "of a segment that is alone: after two smoothed round trips and 200 ms, which its ack may "
        "be delayed (RFC 8985 7.2)",
        "flows": f"{FLOWS} at a time, alone on the default dumbbell, drop-tail; artificial loss, p = "
        f"{', '.join(f'{p:g}' for p in LOSSES)}",
        "short transfers": f"Trace-I at a load of {LOAD:g}, mean and 99th percentile of each run's "
        "response times",
        "statements": "ours: the paper makes none about comparators. Two others fell with a first run: that "
        "Early Retransmit does nothing for telnet (a packet typed within the timeout of the "
        "one before makes the two that it needs), and that padding has fewer timeouts (those "
        "of lost dummies count, which delay no packet)",
        "random numbers": f"seeds 1 to {SEEDS} (1 to {FULL_SEEDS} with --full); bars are 95 % confidence",
        "duration": f"{SECONDS:g} s, short transfers {SECONDS / 3:g} s ({testbed.FULL:g} s with --full)",
    },
    points_at=[
        "recovery sack(limited_transmit=true)",
        "recovery sack(dup_thresh=2)",
        "stack sack+early-retransmit",
        "stack sack+dup-thresh(2)",
        "stack sack+rack",
        "window reno(initial_window=rfc3390)",
        "option idle_restart(true)",
    ],
    tests=[
        "tests/test_reproduce_interactive2007_comparators.py::test_a_probe_finds_a_packet_that_was_lost_alone",
        "tests/test_reproduce_interactive2007_comparators.py::test_a_comparator_that_does_nothing_is_reported",
    ],
)
def reproduce(setting: Setting) -> Outcome:
    """Latency of interactive flows with each remedy, and response times of short transfers."""
    seeds = range(1, (FULL_SEEDS if setting.full else SEEDS) + 1)
    rows, web = interactive(setting, seeds), short(setting, seeds, (0.9, 1.0))
    notes = [
        (
            f"{name}: latency (ms) {listed(rows, name, 'latency', 1e3)}; timeouts per 100 packets "
            f"{listed(rows, name, 'timeouts', 100)}; {of(rows, name, LOSSES[0], 'bytes').mean():.4g} "
            "bytes on the way there for each packet"
        )
        for name in CASES
    ]
    notes += [
        (
            f"short transfers, {name}: mean (ms) {listed(web, name, 'mean', 1e3)}; P99 (ms) "
            f"{listed(web, name, 'p99', 1e3)}"
        )
        for name in STACKS
    ]
    figures = {
        "interactive": picture(
            rows,
            list(CASES),
            "latency",
            "Padding, copies, or a probe: an interactive flow",
            "mean latency (ms)",
        ),
        "short": picture(
            web, list(STACKS), "mean", "Short transfers with random loss", "mean response time (ms)"
        ),
    }
    tables = {"interactive": pa.Table.from_pylist(rows), "short": pa.Table.from_pylist(web)}
    return Outcome(judged(rows), tables, figures, notes, answer(rows, web))


def listed(rows: list[dict[str, Any]], name: str, what: str, times: float) -> str:
    """A number at each loss, with its interval."""
    return ", ".join(
        f"{times * of(rows, name, p, what).mean():.4g} +/- {times * half_width(of(rows, name, p, what)):.2g}"
        for p in LOSSES
    )


def answer(rows: list[dict[str, Any]], web: list[dict[str, Any]]) -> str:
    """Whether a probe makes padding unnecessary, in words."""

    def ms(name: str) -> dict[float, float]:
        return {p: 1e3 * float(of(rows, name, p, "latency").mean()) for p in LOSSES}

    plain, tlp, padded, both, copies = (ms(name) for name in (PLAIN, TLP, PADDED, PADDED_TLP, COPIES))
    p = LOSSES[1]
    sooner = [q for q in LOSSES if tlp[q] <= padded[q]]
    some = f"at p = {' and '.join(f'{q:g}' for q in sooner)}"
    where = {0: "at none of these losses", len(LOSSES): "at every one of these losses"}.get(len(sooner), some)
    cost = of(rows, PADDED, LOSSES[0], "bytes").mean() / of(rows, TLP, LOSSES[0], "bytes").mean()
    quick = 1 - of(web, TLP, p, "mean").mean() / of(web, PLAIN, p, "mean").mean()
    return (
        f"At p = {p:g} a packet alone takes {plain[p]:.3g} ms; {padded[p]:.3g} ms with padding, "
        f"{tlp[p]:.3g} ms with RACK-TLP and no padding, {both[p]:.3g} ms with both, {copies[p]:.3g} ms "
        f"with two copies. RACK-TLP alone is no slower than padding {where}, and padding sends "
        f"{cost:.3g} times the bytes. Short transfers take {100 * quick:.3g} % less time with RACK-TLP "
        "at the same loss."
    )


def picture(rows: list[dict[str, Any]], names: list[str], what: str, title: str, label: str) -> Any:
    """A line for each case over the loss ratio."""
    lines = [
        (
            n,
            [100 * p for p in LOSSES],
            [1e3 * of(rows, n, p, what).mean() for p in LOSSES],
            [1e3 * half_width(of(rows, n, p, what)) for p in LOSSES],
        )
        for n in names
    ]
    words = (
        f"Random loss, 5 Mbit/s, {1e3 * testbed.RTT:g} ms, minimum RTO {testbed.RTO:g} s; bars: 95 % "
        "confidence"
    )
    return sweeps(lines, title=title, subtitle=words, xlabel="loss (%)", ylabel=label)
