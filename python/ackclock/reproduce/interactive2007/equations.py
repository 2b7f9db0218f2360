"""The formulas I-E1 to I-E16 at the register's points."""

from __future__ import annotations

import numpy as np

from ackclock.models import interactive2007 as i
from ackclock.models import pftk98
from ackclock.reproduce.item import Check, pinned, six_digits, stated

RTT = 0.1
"""Seconds, of the register's reference inputs; the timeout is 1 s."""
TESTS = "tests/test_models_interactive2007.py"


def bounds() -> list[Check]:
    """I-E7, the printed bound in both readings, and the exact share."""
    at = np.array([(0.01, 4), (0.05, 6), (0.1, 8)]).T
    return [
        six_digits(
            "bound at (0.01, 4), (0.05, 6), (0.1, 8), (2-p)^w",
            i.random_timeouts_bound(*at),
            [0.231247, 0.0162341, 0.00568211],
        ),
        six_digits(
            "bound at the same, (2-p) w", i.random_timeouts_bound(*at, 0), [0.117522, 0.00347944, 0.000515544]
        ),
        six_digits(
            "bound at (0.1, 4), both readings",
            [i.random_timeouts_bound(0.1, 4, e) for e in (1, 0)],
            [1, 0.971677],
        ),
        six_digits(
            "exact at (0.01, 4), (0.05, 6), (0.1, 8)",
            i.random_timeouts_at(*at),
            [0.029701, 0.00115813, 0.0001765],
        ),
        six_digits("exact at (0.1, 4)", i.random_timeouts_at(0.1, 4), 0.271),
    ]


def backlogged() -> list[Check]:
    """I-E10, and when the interactive flow is slower."""
    rng = np.random.default_rng(2007)
    p, q, rtt, rto = (
        rng.uniform(0.001, 0.49, 10_000),
        rng.uniform(0, 1, 10_000),
        rng.uniform(0.01, 4, 10_000),
        rng.uniform(0.1, 3, 10_000),
    )
    slower = i.interactive_latency(p, rtt, rto) >= i.backlogged_latency(p, q, rtt, rto)
    agree = int((slower == (rto * (1 - p) / (1 - 2 * p) >= rtt)).sum())
    return [
        six_digits(
            "E[L'] at p = 0.1, Q = 0.5, 1, 0",
            i.backlogged_latency(0.1, [0.5, 1, 0], RTT),
            [0.17375, 0.225, 0.1225],
        ),
        six_digits("E[L'] at p = 0.05, Q = 0.3", i.backlogged_latency(0.05, 0.3, RTT), 0.122111),
        stated(
            "E[L] >= E[L'] exactly where RTO (1-p)/(1-2p) >= RTT",
            f"in {agree} of 10000 random cases",
            agree == 10_000,
            "in all",
        ),
    ]


def framing() -> list[Check]:
    """I-E15."""
    ps, p = [0.01, 0.05, 0.1, 0.2], np.array([0.01, 0.05, 0.1])
    return [
        six_digits(
            "p(S,FR) at ps = 0.01, 0.05, 0.1, 0.2",
            i.framed_recovery(ps),
            [0.00970299, 0.0428687, 0.0729, 0.1024],
        ),
        six_digits("p(S,TO) at the same", i.framed_timeout(ps), [0.029701, 0.142625, 0.271, 0.488]),
        six_digits(
            "ps/p at which timeouts are as frequent, p = 0.01, 0.05, 0.1",
            i.break_even_loss(p) / p,
            [0.334451, 0.339049, 0.345106],
        ),
    ]


pinned(
    "I-E1",
    "Equation (1), losses of one packet",
    lambda: [
        six_digits("P(0) to P(3) at p = 0.1", i.failures(0.1, np.arange(4)), [0.9, 0.09, 0.009, 0.0009])
    ],
    points_at=["formula failures"],
    tests=[f"{TESTS}::test_chances_add_up_to_one"],
)
pinned(
    "I-E2",
    "Equation (2), latency of a packet lost i times",
    lambda: [six_digits("L(0) to L(4) (s)", i.failed_latency(np.arange(5), RTT), [0.1, 1.1, 3.1, 7.1, 15.1])],
    points_at=["formula failed-latency"],
    tests=[f"{TESTS}::test_means_are_those_of_their_distributions"],
)
pinned(
    "I-E3",
    "Equation (3), mean latency of an interactive flow",
    lambda: [
        six_digits(
            "E[L] (s) at p = 0.01, 0.05, 0.1, 0.2, 0.4",
            i.interactive_latency([0.01, 0.05, 0.1, 0.2, 0.4], RTT),
            [0.110204, 0.155556, 0.225, 0.433333, 2.1],
        ),
        six_digits("E[L] (s) with 12 ms, p = 0.02", i.interactive_latency(0.02, 0.012), 0.0328333),
        six_digits(
            "E[L] (s) with RTO = 0.5 s, p = 0.01, 0.05, 0.1, 0.2",
            i.interactive_latency([0.01, 0.05, 0.1, 0.2], RTT, 0.5),
            [0.105102, 0.127778, 0.1625, 0.266667],
        ),
    ],
    points_at=["formula interactive-latency"],
    tests=[
        f"{TESTS}::test_means_are_those_of_their_distributions",
        f"{TESTS}::test_doubled_timeouts_have_no_mean_from_one_half_on",
    ],
)
pinned(
    "I-E4",
    "Equation (4), mean window",
    lambda: [
        six_digits(
            "E[w] at p = 0.01, 0.02, 0.05, 0.1, 0.2, b = 1",
            pftk98.expected_window([0.01, 0.02, 0.05, 0.1, 0.2], 1),
            [17.2788, 12.4746, 8.18795, 6, 4.41565],
        ),
        six_digits(
            "E[w] at p = 0.01, 0.02, 0.05, 0.1, b = 2",
            pftk98.expected_window([0.01, 0.02, 0.05, 0.1]),
            [12.1751, 8.77702, 5.74385, 4.19434],
        ),
    ],
    points_at=["formula pftk-window"],
    tests=[f"{TESTS}::test_the_mean_window_is_pftks"],
)
pinned(
    "I-E5",
    "Equation (5), timeouts at a window, correlated losses",
    lambda: [
        six_digits(
            "Q at (0.01, 10), (0.02, 20), (0.05, 6), (0.1, 4)",
            pftk98.timeout_share([0.01, 0.02, 0.05, 0.1], [10, 20, 6, 4]),
            [0.331097, 0.225327, 0.604231, 0.845466],
        ),
        six_digits("Q at a window below 3", pftk98.timeout_share(0.1, 2.5), 1),
    ],
    points_at=["formula pftk-timeouts"],
    tests=[f"{TESTS}::test_shares_lie_between_none_and_all"],
)
pinned(
    "I-E6",
    "Equation (6), timeouts of a backlogged flow, correlated losses",
    lambda: [
        six_digits(
            f"Q at p = 0.01, 0.02, 0.03, 0.05, 0.1, 0.2, b = {b}",
            i.correlated_timeouts([0.01, 0.02, 0.03, 0.05, 0.1, 0.2], b),
            expected,
        )
        for b, expected in (
            (1, [0.210479, 0.307267, 0.382344, 0.499193, 0.692631, 0.886697]),
            (2, [0.279922, 0.399447, 0.488752, 0.621817, 0.824081, 0.991766]),
        )
    ],
    points_at=["formula correlated-timeouts"],
    tests=[f"{TESTS}::test_shares_lie_between_none_and_all"],
)
pinned(
    "I-E7",
    "Equation (7), timeouts at a window, random losses",
    bounds,
    {
        "the exponents": "flattened in the source: `(2-p)^w` is our reading, `(2-p) w` the other; "
        "`random-timeouts-bound` has both",
        "default": "neither, but the exact binomial share that (7) bounds",
    },
    points_at=["formula random-timeouts-bound", "formula random-timeouts-at", "formula random-timeouts"],
    tests=[
        f"{TESTS}::test_the_exact_share_is_that_of_drawn_losses",
        f"{TESTS}::test_shares_lie_between_none_and_all",
    ],
)
pinned(
    "I-E8",
    "Equation (8), timeouts of a backlogged flow, random losses",
    lambda: [
        six_digits(
            "Q at p = 0.01, 0.05, 0.1, wmax = 20",
            i.random_timeouts_loose([0.01, 0.05, 0.1], 20),
            [0.34784, 0.536, 0.764],
        ),
        six_digits("Q at p = 0.1, wmax = 40", i.random_timeouts_loose(0.1, 40), 0.382),
    ],
    {"wmax": "not stated: an input here; where it is needed twice the mean window of (4)"},
    points_at=["formula random-timeouts-loose"],
    tests=[f"{TESTS}::test_equation_8_bounds_the_exact_share"],
)
pinned(
    "I-E9",
    "Equation (9), latency of a backlogged flow's packet lost i times",
    lambda: [
        six_digits(
            "L'(0) to L'(3) (s), Q = 0.5",
            i.backlogged_failed_latency(np.arange(4), 0.5, RTT),
            [0.1, 0.65, 2.15, 5.15],
        )
    ],
    points_at=["formula backlogged-failed-latency"],
    tests=[f"{TESTS}::test_means_are_those_of_their_distributions"],
)
pinned(
    "I-E10",
    "Equation (10), mean latency of a backlogged flow",
    backlogged,
    points_at=["formula backlogged-latency", "formula backlogged-gain"],
    tests=[f"{TESTS}::test_means_are_those_of_their_distributions"],
)
pinned(
    "I-E11",
    "Equation (11), timeouts of padded packets",
    lambda: [
        six_digits(
            "Q(4) at p = 0.01, 0.05, 0.1, 0.2",
            i.padded_timeouts([0.01, 0.05, 0.1, 0.2]),
            [0.029701, 0.142625, 0.271, 0.488],
        ),
        six_digits("Q(5) at p = 0.05, 0.1", i.padded_timeouts([0.05, 0.1], 5), [0.0140188, 0.0523]),
        six_digits("Q(3) at p = 0.1", i.padded_timeouts(0.1, 3), 1),
    ],
    points_at=["formula padded-timeouts"],
    tests=[f"{TESTS}::test_three_dummies_are_a_window_of_four"],
)
pinned(
    "I-E12",
    "Equation (12), mean latency of padded packets",
    lambda: [
        six_digits(
            "E[L'] (s) at p = 0.01, 0.05, 0.1, 0.2",
            i.padded_latency([0.01, 0.05, 0.1, 0.2], RTT),
            [0.101372, 0.114592, 0.150278, 0.30704],
        )
    ],
    points_at=["formula padded-latency"],
    tests=[f"{TESTS}::test_means_are_those_of_their_distributions"],
)
pinned(
    "I-E13",
    "Equation (13), failures of a packet sent as copies",
    lambda: [
        six_digits(
            "P(0) to P(2) at p = 0.1, two copies",
            i.diversity_failures(0.1, np.arange(3)),
            [0.99, 0.009, 0.0009],
        )
    ],
    points_at=["formula diversity-failures"],
    tests=[f"{TESTS}::test_chances_add_up_to_one"],
)
pinned(
    "I-E14",
    "Equation (14), mean latency with copies",
    lambda: [
        six_digits(
            "E[L'] (s), two copies, p = 0.01, 0.05, 0.1, 0.2",
            i.diversity_latency([0.01, 0.05, 0.1, 0.2], RTT),
            [0.100102, 0.102778, 0.1125, 0.166667],
        ),
        six_digits(
            "E[L'] (s) at p = 0.1, one and three copies",
            i.diversity_latency(0.1, RTT, 1.0, [1, 3]),
            [0.225, 0.10125],
        ),
    ],
    points_at=["formula diversity-latency"],
    tests=[f"{TESTS}::test_means_are_those_of_their_distributions"],
)
pinned(
    "I-E15",
    "Transitions of Smart Framing",
    framing,
    points_at=[
        "formula framed-success",
        "formula framed-recovery",
        "formula framed-timeout",
        "formula break-even-loss",
    ],
    tests=[f"{TESTS}::test_framed_packets_succeed_recover_or_time_out"],
)
pinned(
    "I-E16",
    "Flows that a link carries",
    lambda: [
        six_digits(
            "flows of 540, 720, 1080 bytes a second at 1.5 Mbit/s",
            i.flows_sustained(1.5e6, [540, 720, 1080]),
            [347.222, 260.417, 173.611],
        )
    ],
    points_at=["formula flows-sustained"],
    tests=[f"{TESTS}::test_flows_fill_the_link"],
)
