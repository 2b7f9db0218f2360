from __future__ import annotations

import numpy as np
import pyarrow as pa

import ackclock as ac
from ackclock.plot import curves
from ackclock.reproduce.interactive2007 import seen, testbed
from ackclock.reproduce.item import Outcome, Setting, at_least, item, within
from ackclock.results import Run
from ackclock.results.responses import Responses, mean

RATE = testbed.RATE
"""Mbit/s of the default scenario. A slow path would hold packets back for longer, and the intervals between
those that are sent would be those of its packets.
"""
PACKET, DUMMY = 300, testbed.PAYLOAD
"""Payload of a packet and of a dummy: different, so that a trace distinguishes them."""
SECONDS, SEEDS, FULL_SEEDS = 1000, 2, 20
LOSSY_SEEDS = 5
"""At most so many of them with loss as well, which is shown and decides nothing."""
LOSS = 0.02
MERGED = 0.005
"""Share of the packets that leave with the next one in a segment, typed within a round trip of each other:
the trace shows the two as none.
"""
LEAST = 0.01
"""The probability that a sample of exponential intervals deviates as much: below this they are none
(Kolmogorov and Smirnov's test).
"""


def scenario(seed: int, loss: float, seconds: float) -> ac.Scenario:
    """One backlogged flow over a slow path."""
    load = ac.Backlogged(name="backlogged", bytes=f"{PACKET}B", dummy_bytes=f"{DUMMY}B", **testbed.measured())
    # A window of two dummies: what an ack makes room for is a packet or a dummy, never both, which would
    # leave as one segment.
    tcp = testbed.tcp(rcv_buf=f"{2 * DUMMY}B")
    return testbed.scenario(
        testbed.dumbbell(mbit=RATE, loss=loss), load, {"TCP": tcp}, seconds, seed=seed, trace=["packets"]
    )


def packets(run: Run) -> Responses:
    """The flow's packets, dummies included."""
    (found,) = seen.responses(run, "backlogged")
    return found


@item(
    "I-X7",
    kind="SIM",
    title="Statistics of marked packets in a bulk flow",
    choices={
        "flow": f"the backlogged source, whose packets take the place of marks; {RATE:g} Mbit/s as by "
        "default, "
        "receiver's window of two dummies",
        "distinguished by": f"dummies are {DUMMY} bytes, packets {PACKET}: the trace shows which is which",
        "marked in a trace": f"{seen.MARKED} processes of marks with a mean of {testbed.THINK:g} s over "
        "every packet of the same flow",
        "loss": f"none in the checks, where segments keep the sizes that were written; {100 * LOSS:g} % "
        "beside that",
        "settings": "sizes, window and the check without a loss were chosen after first runs, in which "
        "packets had been merged with dummies",
        "duration": f"{SECONDS} s, seeds 1 to {SEEDS} ({FULL_SEEDS} seeds with --full; the first five "
        "alone drew "
        "intervals that such a test takes for none with 0.6 %, each of the twenty by itself with 3.6 % or "
        "more)",
    },
    points_at=["application backlogged(think=1s)"],
    tests=[
        "crates/ackclock-policy/src/application/tests.rs::packets_in_a_bulk_flow_are_poisson",
        "crates/ackclock-policy/src/application/tests.rs::a_response_time_begins_when_the_packet_is_sent_or_typed",
        "tests/test_responses.py::test_a_mark_falls_on_the_packet_that_is_sent_next",
    ],
)
def reproduce(setting: Setting) -> Outcome:
    """Intervals between marked packets, and whose response times are recorded."""
    from scipy import stats

    seeds = range(1, (FULL_SEEDS if setting.full else SEEDS) + 1)
    few = seeds[:LOSSY_SEEDS]
    jobs = [(seed, 0.0) for seed in seeds] + [(seed, LOSS) for seed in few]
    runs = setting.run_all([scenario(seed, loss, SECONDS) for seed, loss in jobs], "I-X7")
    clear, lossy = runs[: len(seeds)], runs[len(seeds) :]
    intervals = []
    for run in clear:
        found = packets(run)
        intervals.append(np.diff(found.sent[found.size == PACKET]))
    gaps = np.concatenate(intervals)
    # A packet waits until its window has room: at most for as long as one packet takes, which widens no
    # interval on average.
    test = stats.kstest(gaps, "expon", args=(0, testbed.THINK))
    error = 3 * testbed.THINK / np.sqrt(gaps.size)
    checks = [
        within("mean interval between packets (s)", float(gaps.mean()), testbed.THINK, error),
        within(
            "deviation of the intervals over their mean",
            float(gaps.std() / gaps.mean()),
            1.0,
            3 * np.sqrt(2 / gaps.size),
        ),
        at_least(
            "probability of such intervals, if they are exponential", float(test.pvalue), LEAST, "at least"
        ),
    ]
    rows = []
    for seed, loss, run in [
        *((s, 0.0, r) for s, r in zip(seeds, clear, strict=True)),
        *((s, LOSS, r) for s, r in zip(few, lossy, strict=True)),
    ]:
        (flow,) = run.flows.to_pylist()
        found = packets(run)
        own = found.size == PACKET
        marks = [found.marked(m) for m in seen.poisson(found.sent[0], found.sent[-1], testbed.THINK)]
        rows.append(
            {
                **{
                    "loss": loss,
                    "seed": seed,
                    "recorded": flow["responses"],
                    "packets": int(np.isfinite(found.time[own]).sum()),
                    "all": found.sent.size,
                },
                **{
                    "response": flow["response_time"],
                    "of_packets": mean(found.time[own]),
                    "of_all": mean(found.time),
                },
                "of_marked": mean(np.concatenate([m.time for m in marks])),
            }
        )
    without_loss = [r for r in rows if not r["loss"]]
    checks += [
        *(
            within(
                f"seed {r['seed']}: response times recorded, packets acknowledged",
                r["recorded"],
                r["packets"],
                MERGED * r["packets"],
            )
            for r in without_loss
        ),
        *(
            within(
                f"seed {r['seed']}: mean recorded, mean of the packets in the trace (s)",
                r["response"],
                r["of_packets"],
                1e-3,
            )
            for r in without_loss
        ),
    ]
    notes = [
        (
            f"loss {100 * r['loss']:g} %, seed {r['seed']}, to the cumulative ack: packets "
            f"{1e3 * r['of_packets']:.0f} ms, marks by the clock over all packets {1e3 * r['of_marked']:.0f} "
            f"ms, all {r['all']} packets {1e3 * r['of_all']:.0f} ms"
        )
        for r in rows
    ]
    x = np.sort(gaps)
    at = np.linspace(0, 6, 200)
    figure = curves(
        at,
        [
            ("packets of the backlogged flow", 1 - np.searchsorted(x, at, "right") / x.size),
            ("exponential, mean 1 s", np.exp(-at)),
        ],
        title="Intervals between marked packets",
        subtitle=f"Backlogged source, {gaps.size} intervals, no loss",
        xlabel="interval (s)",
        ylabel="share of intervals longer than this",
    )
    return Outcome(checks, {"runs": pa.Table.from_pylist(rows)}, {"intervals": figure}, notes)
