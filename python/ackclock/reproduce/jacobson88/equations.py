"""The formulas J-E1 to J-E20 at the register's points."""

from __future__ import annotations

import math

import numpy as np

from ackclock.models import jacobson88 as j
from ackclock.reproduce.item import Check, at_most, context, exactly, pinned, six_digits, stated
from ackclock.reproduce.jacobson88.golden import GOLDEN_FALL, GOLDEN_REAL, GOLDEN_RISE, real, ticks, words


def final_timer() -> list[Check]:
    """J-E7."""
    return [
        six_digits(
            "a, v, rto from a = 2, v = 0, samples of 10",
            np.ravel(real(2, 0, [10.0] * 6)),
            np.ravel(GOLDEN_REAL),
        ),
        exactly(
            "integers from sa = 16, sv = 0, samples of 10", words(ticks(16, 0, [10] * 12)), words(GOLDEN_RISE)
        ),
        exactly(
            "integers from sa = 80, sv = 0, samples of 2", words(ticks(80, 0, [2] * 16)), words(GOLDEN_FALL)
        ),
        exactly(
            "fixed points of 5 ticks, from below and above",
            words([ticks(*s, [5] * 1000)[-1] for s in ((0, 0), (200, 40))]),
            ["(40 3 8)", "(47 3 8)"],
        ),
        exactly(
            "the same with one gain (J-A5), from above",
            words([ticks(200, 80, [5] * 1000, 3)[-1]]),
            ["(47 7 12)"],
        ),
    ]


def why_four() -> list[Check]:
    """J-E17: both the argument and the filter."""
    # Milliseconds, since timeouts end at an hour; round 0 is the start, a = 1 and v = 0.5 at a round-trip
    # time of 1.
    rtt = [2.0**i for i in range(20)]
    started = [1e-3 * m for m in rtt[1:]]
    four, two = (
        [1 + weight * 0.5, *(1e3 * r[2] for r in real(1e-3, 0.5e-3, started, weight))]
        for weight in (4.0, 2.0)
    )
    return [
        six_digits("R + 4V and R + 2V over R, unfiltered", j.doubling_margin([4, 2]), [3, 2]),
        six_digits("a + 4v after rounds 0 to 4, filtered", four[:5], [3, 3.625, 6.23438, 12.377, 25.2712]),
        six_digits(
            "(a + 4v)/R and (a + 2v)/R in the end",
            [four[-1] / rtt[-1], two[-1] / rtt[-1]],
            [1.64444, 0.933333],
        ),
        six_digits("the same as one formula", j.doubling_margin_filtered([4, 2]), [1.64444, 0.933333]),
        at_most(
            "rounds after the first in which the filtered timer stays above the next RTT",
            sum(r > 2 * m for r, m in zip(four[1:], rtt[1:], strict=True)),
            0,
            "none",
        ),
    ]


def wrong_rate() -> list[Check]:
    """J-E15."""
    steps = np.arange(1, 6)
    wrong = 1 / np.asarray(j.rate_interval_wrong(1, 0.1, np.arange(10)))
    return [
        six_digits(
            "I after 1 to 5 packets, alpha = 10 s",
            j.rate_interval(1, 10, steps),
            [0.909091, 0.833333, 0.769231, 0.714286, 0.666667],
        ),
        six_digits("rate", 1 / j.rate_interval(1, 10, steps), [1.1, 1.2, 1.3, 1.4, 1.5]),
        six_digits(
            "rate of the wrong policy, k = 0 to 9",
            wrong,
            [1, 1.11111, 1.25, 1.42857, 1.66667, 2, 2.5, 3.33333, 5, 10],
        ),
        stated(
            "and at k = 10",
            f"an interval of {float(j.rate_interval_wrong(1, 0.1, 10)):.3g}",
            float(j.rate_interval_wrong(1, 0.1, 10)) < 1e-12,
            "unbounded",
        ),
    ]


def deviations() -> list[Check]:
    """J-E5: both readings, and normal errors drawn at random."""
    errors = np.random.default_rng(1988).normal(size=1_000_000)
    ratio = float(errors.std() / np.abs(errors).mean())
    return [
        six_digits("sdev of mdev = 1, corrected", j.sdev_of_mdev(1), math.sqrt(math.pi / 2)),
        six_digits("mdev of sdev = 1, corrected", 1 / j.sdev_of_mdev(1), 0.797885),
        six_digits("sdev of mdev = 1, as printed", j.sdev_of_mdev_paper(1), 0.797885),
        stated(
            "a million normal errors have the corrected ratio",
            f"{ratio:.4f}",
            abs(ratio - 1.25331) < 0.005,
            "1.25331 +/- 0.005",
        ),
    ]


pinned(
    "J-E1",
    "Slow-start opening time",
    lambda: [six_digits("W = 8, 16, 32, 256, in R", j.slow_start_time(1, [8, 16, 32, 256]), [3, 4, 5, 8])],
)
pinned(
    "J-E2",
    "Round-trip time against load",
    lambda: [
        six_digits(
            "spread at rho = 0.2, 0.3, 0.5, 0.75, 0.9",
            j.load_spread([0.2, 0.3, 0.5, 0.75, 0.9]),
            [1.5625, 2.04082, 4, 16, 100],
        ),
        six_digits("load that beta = 2 copes with", j.load_limit(2), 0.292893),
    ],
    {"the factor": "(1 - rho)^-2, which gives the paper's 16 and its 30 %"},
)
pinned(
    "J-E3",
    "RFC 793 filter",
    lambda: [six_digits("R and rto from R = 1, M = 2", [j.rfc793_srtt(1, 2), j.rfc793_rto(1.1)], [1.1, 2.2])],
)


def mean_update() -> list[Check]:
    """J-E4: both readings, and independent samples drawn at random."""
    mean, means = 0.0, []
    for m in np.random.default_rng(1988).normal(size=400_000):
        mean += (m - mean) / 8.0
        means.append(mean)
    sdev = float(np.std(means[1000:]))
    return [
        six_digits("a = 2, m = 10, g = 1/8", j.mean_update(2, 10), 3),
        six_digits(
            "sdev(a), derived and as printed",
            [j.mean_sdev(0.125), j.mean_sdev_paper(0.125)],
            [0.258199, 0.125],
        ),
        stated(
            "independent samples have the derived one",
            f"{sdev:.4f}",
            abs(sdev - 0.258199) < 0.005,
            "0.258199 +/- 0.005",
        ),
    ]


pinned(
    "J-E4",
    "Mean update and the deviation of the mean",
    mean_update,
    {"the two readings": "sqrt(g/(2 - g)), derived, by default; the paper prints g"},
)
pinned(
    "J-E5",
    "Mean deviation against standard deviation",
    deviations,
    {"the two readings": "sdev = 1.25331 mdev by default; printed the other way round"},
)
pinned(
    "J-E6",
    "Scaled integer form",
    lambda: [
        six_digits("8a = 16, 8v = 8, m = 6", [j.scaled_mean(16, 6), j.scaled_deviation(8, 16, 6)], [20, 11])
    ],
)
pinned(
    "J-E7",
    "Final timer",
    final_timer,
    points_at=["estimator jacobson88(g=0.125, h=0.25, weight=4)", "estimator jacobson88-ticks(form=final)"],
    tests=[
        "crates/ackclock-policy/src/estimator/jacobson88.rs::golden_rows_in_real_arithmetic",
        "crates/ackclock-policy/src/estimator/jacobson88_ticks.rs::golden_rows_when_the_rtt_rises",
        "crates/ackclock-policy/src/estimator/jacobson88_ticks.rs::golden_rows_when_the_rtt_falls",
        "tests/test_models_jacobson88.py::test_the_integer_forms_are_those_of_the_estimator",
    ],
)
pinned(
    "J-E8",
    "Sensitivity to damage loss",
    lambda: [
        six_digits(
            "f at p, w = 0.01, 8; 0.05, 8; 0.01, 16",
            j.damage_goodput([0.01, 0.05, 0.01], [8, 8, 16]),
            [0.862069, 0.555556, 0.757576],
        )
    ],
)
pinned(
    "J-E9",
    "Regaining a window, and the loss threshold",
    lambda: [
        six_digits(
            "w^2/3 (packets) of 8, 16, 32", j.regain_packets([8, 16, 32]), [21.3333, 85.3333, 341.333]
        ),
        six_digits("threshold at w = 8", j.loss_threshold(8), 0.046875),
        six_digits(
            "exact climb and threshold at w = 8",
            [j.regain_packets_exact(8), j.loss_threshold_exact(8)],
            [24, 0.0416667],
        ),
    ],
)
pinned(
    "J-E10",
    "Load of a congested network",
    lambda: [six_digits("gamma = 1.5, n = 10", j.congested_load(1.5, 1, 10), 57.6650)],
)
pinned(
    "J-E11",
    "Multiplicative decrease",
    lambda: [
        six_digits("from 32, d = 0.5", j.decreased_window(32, 0.5, [1, 2, 3, 4]), [16, 8, 4, 2]),
        six_digits(
            "from 32, d = 7/8", j.decreased_window(32, 0.875, [1, 2, 3, 4]), [28, 24.5, 21.4375, 18.7578]
        ),
    ],
)
pinned(
    "J-E12",
    "Additive increase",
    lambda: [six_digits("round trips from 16 to 32", j.increase_rounds(16, 32), 16)],
)
pinned(
    "J-E13",
    "Increment for each ack",
    lambda: [
        six_digits("4 acks from 4", j.avoidance_window(4, [1, 2, 3, 4]), [4.25, 4.48529, 4.70824, 4.92064])
    ],
)
pinned(
    "J-E14",
    "Queue clearing time",
    lambda: [
        six_digits("rho = 0.5, 0.75, 0.9, 0.95", j.queue_clearing([0.5, 0.75, 0.9, 0.95]), [4, 16, 100, 400])
    ],
)
pinned("J-E15", "Rate-based increase", wrong_rate)
pinned(
    "J-E16",
    "Growth of the round-trip time with a window increment",
    lambda: [
        six_digits(
            "576 bytes at 2400 bit/s, 8 and 10 bits for a byte",
            j.increment_delay(576, 2400, [8, 10]),
            [1.92, 2.4],
        )
    ],
    {"bits for a byte": "8 by arithmetic; the paper's 2.4 s is 10, an asynchronous line"},
)
pinned(
    "J-E17",
    "Why the weight is 4 and not 2",
    why_four,
    {"the two readings": "the unfiltered difference, as the paper argues, and the filters"},
)
pinned(
    "J-E18",
    "Decay time of the deviation",
    lambda: [
        six_digits(
            "time constant of gain 1/4; times its weight", j.deviation_decay(0.25, [1, 4]), [3.47606, 13.9042]
        )
    ],
    {"the paper's twelve": "4 times a filter of 3 samples"},
)
pinned(
    "J-E19",
    "Spacing behind the bottleneck",
    lambda: [six_digits("552 bytes at 230.4 kbit/s", j.packet_spacing(552, 230_400), 0.0191667)],
)
pinned(
    "J-E20",
    "Standing queue",
    lambda: [six_digits("window 22 and 10, pipe 16", j.standing_queue([22, 10], 16), [6, 0])],
)
pinned(
    "J-N3",
    "Spread of round-trip times at a load of 75 %, and the load that beta = 2 copes with",
    lambda: [
        six_digits("factor at rho = 0.75", j.load_spread(0.75), 16),
        six_digits("load", j.load_limit(2), 0.292893),
    ],
)
context(
    "J-N5",
    "Loss in the networks of its time",
    "Gateways of the middle 1980s dropped 10 % of what arrived; damage lost well under 1 % of the "
    "packets. So loss meant congestion.",
)
