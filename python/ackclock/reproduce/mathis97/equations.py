"""The formulas M-E1 to M-E17 at the register's points."""

from __future__ import annotations

import numpy as np

from ackclock.models import jacobson88 as j
from ackclock.models import mathis97 as m
from ackclock.reproduce.item import Check, at_most, exactly, pinned, six_digits, stated, within
from ackclock.reproduce.mathis97.window_alone import constant

GATEWAYS = [1, 2, 3, 4, 5, 6, 8, 10]
SHORT = [0.5, 0.190744, 0.103517, 0.0666667, 0.0473381, 0.0357854, 0.0230275, 0.0163711]
LONG = [0.5, 0.261204, 0.161390, 0.111111, 0.0820995, 0.0637067, 0.0423237, 0.0306534]

# Table 4: C and k of equation (5), and the windows that the register has for them at p = 1e-4, 1e-3 and 1e-2.
FITS = {
    "FACK": (1.205, -0.513, [135.827, 41.6857, 12.7934]),
    "SACK": (1.247, -0.508, [134.235, 41.6741, 12.9380]),
    "Reno": (1.096, -0.521, [132.987, 40.0692, 12.0729]),
    "NewReno": (1.167, -0.516, [135.229, 41.2165, 12.5623]),
    "Tahoe": (0.920, -0.534, [125.831, 36.7949, 10.7594]),
    "FACK, delayed acks": (0.783, -0.519, [93.2742, 28.2333, 8.54598]),
    "SACK, delayed acks": (0.792, -0.518, [93.4814, 28.3612, 8.60449]),
    "Reno, delayed acks": (0.752, -0.524, [93.8032, 28.0684, 8.39881]),
    "NewReno, delayed acks": (0.738, -0.526, [93.7684, 27.9291, 8.31872]),
    "Tahoe, delayed acks": (0.596, -0.542, [87.7498, 25.1910, 7.23180]),
}

# C of a window by itself: packets that a window's acks add, random or periodic loss, p, and the register's C,
# which is known to about 0.01.
ALONE = [
    *((1.0, True, p, c) for p, c in ((1e-4, 1.3109), (1e-3, 1.3124), (1e-2, 1.3027))),
    *((0.5, True, p, c) for p, c in ((1e-4, 0.9271), (1e-3, 0.9281), (1e-2, 0.9212))),
    (1.0, False, 1e-4, 1.2248),
    (0.5, False, 1e-4, 0.8662),
]

SIZES = [536, 1460, 4312]
"""Segment sizes of the research user, bytes (M-F13)."""


def bandwidths() -> list[Check]:
    """M-E3."""
    alone = [
        within(
            f"C of a window by itself, {'random' if random else 'periodic'} loss of {p:g}, "
            f"{'ack per packet' if increase == 1 else 'delayed acks'}",
            constant(p, increase, random),
            c,
            0.01,
        )
        for increase, random, p, c in ALONE
    ]
    return [
        six_digits(
            "BW (bit/s) of 1460 bytes, 0.1 s, p = 0.01, C = 1.22474, 0.866025",
            m.bandwidth(0.01, 0.1, 1460, np.sqrt([1.5, 0.75])),
            [1.43050e6, 1.01152e6],
        ),
        six_digits(
            "BW (bit/s) of 536, 1460, 4312 bytes, 0.1 s, p = 0.03, C = 1",
            m.bandwidth(0.03, 0.1, SIZES, 1),
            [247568, 674345, 1.99163e6],
        ),
        six_digits(
            "average window at p = 1e-3, 0.01, 0.03, 0.1",
            m.average_window([1e-3, 0.01, 0.03, 0.1]),
            [38.7298, 12.2474, 7.07107, 3.87298],
        ),
        six_digits(
            "the same with C = 0.93",
            m.average_window([1e-3, 0.01, 0.03, 0.1], 0.93),
            [29.4092, 9.3, 5.36936, 2.94092],
        ),
        *alone,
    ]


def periodic() -> list[Check]:
    """M-E2: the cycle of M-E1 gives equation (3) with C = sqrt(3/2)."""
    p = np.geomspace(1e-6, 0.3, 1000)
    apart = np.abs(m.periodic_bandwidth(p, 0.1) / m.bandwidth(p, 0.1) - 1).max()
    return [
        six_digits("BW (bit/s) of 1460 bytes, 0.1 s, p = 0.01", m.periodic_bandwidth(0.01, 0.1), 1.43050e6),
        at_most(
            "difference from M-E3 with C = sqrt(3/2), p from 1e-6 to 0.3",
            float(apart),
            1e-12,
            "none, to rounding",
        ),
    ]


def bound() -> list[Check]:
    """M-E4: the values of M-E3 with C = 1, and above every fit with delayed acks."""
    p = np.array([1e-4, 1e-3, 1e-2])
    delayed = [m.power_law_window(p, c, k) for name, (c, k, _) in FITS.items() if "delayed" in name]
    highest = float(np.max(delayed * np.sqrt(p)))
    return [
        six_digits(
            "bound (bit/s) of 536, 1460, 4312 bytes, 0.1 s, p = 0.03",
            m.bandwidth_bound(0.03, 0.1, SIZES),
            [247568, 674345, 1.99163e6],
        ),
        stated(
            "the fits with delayed acks lie below it at p = 1e-4 to 1e-2",
            f"at most {highest:.3f} of it",
            highest < 1,
            "below 1",
        ),
    ]


def fits() -> list[Check]:
    """M-E5."""
    checks = [
        six_digits(
            f"window of {name} at p = 1e-4, 1e-3, 1e-2", m.power_law_window([1e-4, 1e-3, 1e-2], c, k), w
        )
        for name, (c, k, w) in FITS.items()
    ]
    local = float(m.power_law_window(0.01, *FITS["Reno, delayed acks"][:2]) * 0.1)
    checks.append(six_digits("local C of Reno with delayed acks at p = 0.01", local, 0.839881))
    # M-E3 with its own exponent and bandwidths of it are the same function.
    checks.append(
        six_digits("BW (bit/s) with k = -1/2, 1460 bytes, 0.1 s, p = 0.01", m.power_law(0.01, 0.1), 1.43050e6)
    )
    return checks


def chain() -> list[Check]:
    """M-E6: its two round-trip times give equations (12) and (13)."""
    n = np.arange(1, 101)
    shares = {name: 1 / (1 + 1 / m.gateway_ratio(n, rtt)) for name, rtt in (("(12)", 2 * n - 1), ("(13)", n))}
    apart = {
        "(12)": shares["(12)"] * (1 + np.sqrt(n) * (2 * n - 1)) - 1,
        "(13)": shares["(13)"] * (1 + n**1.5) - 1,
    }
    loss = m.path_loss(n, 1e-4) / (n * 1e-4)
    # Equation (3) at both losses, with round-trip times in the ratio of the links, gives the same ratio of
    # bandwidths to the order of p.
    ratio = m.bandwidth(m.path_loss(n, 1e-9), 0.1 * (2 * n - 1)) / m.bandwidth(1e-9, 0.1)
    return [
        *(
            at_most(
                f"difference from equation {name}, n = 1 to 100",
                float(np.abs(d).max()),
                1e-12,
                "none, to rounding",
            )
            for name, d in apart.items()
        ),
        stated(
            "p_0 is about n p: over it at p = 1e-4, n = 1 to 100",
            f"{loss.min():.4f} to {loss.max():.4f}",
            bool((np.abs(loss - 1) < 0.01).all()),
            "1 +/- 0.01",
        ),
        at_most(
            "B_0/B_i of equation (3) at p = 1e-9, against M-E6",
            float(np.abs(ratio / m.gateway_ratio(n, 2 * n - 1) - 1).max()),
            1e-6,
            "the order of n p",
        ),
    ]


def losses() -> list[Check]:
    """M-E14."""
    return [
        six_digits(
            "p for 1 Mbit/s at 0.1 s, 536, 1460, 4312 bytes",
            m.loss_for_rate(1e6, 0.1, SIZES),
            [0.00183869, 0.0136422, 0.118997],
        ),
        six_digits(
            "p for 1 GB in 2 h", m.loss_for_rate(8e9 / 7200, 0.1, SIZES), [0.00148934, 0.0110502, 0.0963879]
        ),
    ]


def halving() -> list[Check]:
    """M-E15."""
    cases = [(20, 1), (20, 4), (21, 1), (10, 5), (4, 1)]
    got = [int(m.rate_halving_window(cwnd, loss)) for cwnd, loss in cases]
    return [exactly("window from 20, 20, 21, 10, 4 with 1, 4, 1, 5, 1 lost", got, [9, 8, 10, 2, 1])]


def overshoot() -> list[Check]:
    """M-E16."""
    p = 1 / 256
    size, rtt = 1500, 0.1
    return [
        six_digits(
            "signals and packets at p = 1/256", [m.overshoot_signals(p), m.overshoot_packets(p)], [4, 1024]
        ),
        six_digits("packets at p = 1e-3, 1e-4", m.overshoot_packets([1e-3, 1e-4]), [4982.89, 66438.6]),
        six_digits("bytes of 1024 packets of 1500", m.overshoot_packets(p) * size, 1.536e6),
        six_digits(
            "steady window (packets, bytes) and rate at 0.1 s",
            [m.average_window(p, 1), m.average_window(p, 1) * size, m.bandwidth(p, rtt, size, 1)],
            [16, 24e3, 1.92e6],
        ),
        six_digits(
            "peak window (packets, bytes) and rate",
            [1 / p, size / p, 8 * size / p / rtt],
            [256, 384e3, 30.72e6],
        ),
        six_digits("overshoot factor", m.overshoot_factor(p), 16),
    ]


def modem() -> list[Check]:
    """M-E17."""
    line = 28_800
    packet, both = (float(j.packet_spacing(size, line)) for size in (1000, 1040))
    return [
        six_digits("1000 bytes at 28.8 kbit/s (ms)", packet * 1e3, 277.778),
        six_digits(
            "with an ack of 40 bytes, and the rest of 400 ms (ms)",
            [both * 1e3, 400 - both * 1e3],
            [288.889, 111.111],
        ),
        six_digits(
            "peak window over 5 packets of queue, of 277.8 ms each", m.filled_window(5, 0.4, 0.2778), 6.43988
        ),
        six_digits("1 GB at 250 kbit/s (h)", m.transfer_time(1e9, 250e3) / 3600, 8.88889),
    ]


pinned(
    "M-E1",
    "Equation (1), peak window under periodic loss",
    lambda: [
        six_digits(
            "W at p = 1e-4, 1e-3, 0.01, 0.03, 0.1",
            m.peak_window([1e-4, 1e-3, 0.01, 0.03, 0.1]),
            [163.299, 51.6398, 16.3299, 9.42809, 5.16398],
        )
    ],
    points_at=["formula peak-window"],
    tests=["tests/test_models_mathis97.py::test_a_cycle_carries_one_loss"],
)
pinned(
    "M-E2",
    "Equation (2), bandwidth under periodic loss",
    periodic,
    points_at=["formula periodic-bandwidth"],
    tests=["tests/test_models_mathis97.py::test_a_cycle_carries_one_loss"],
)
pinned(
    "M-E3",
    "Equation (3), bandwidth with a constant C",
    bandwidths,
    points_at=["formula mathis", "formula mathis-window"],
    tests=["tests/test_models_mathis97.py::test_the_constants_are_those_of_a_window_by_itself"],
)
pinned(
    "M-E4",
    "Equation (4), simple bound",
    bound,
    points_at=["formula bandwidth-bound"],
    tests=["tests/test_models_mathis97.py::test_bandwidths_scale"],
)
pinned(
    "M-E5",
    "Equation (5), free exponent",
    fits,
    points_at=["formula power-law", "formula power-law-window"],
    tests=["tests/test_models_mathis97.py::test_bandwidths_scale"],
)
pinned(
    "M-E6",
    "Equations (6) to (11), several congested gateways",
    chain,
    {
        "the equations": "missing in our copy of the paper; derived from links that are full, random loss "
        "that adds up, and equation (3)"
    },
    points_at=["formula gateway-ratio", "formula path-loss"],
    tests=["tests/test_models_mathis97.py::test_losses_of_gateways_add_up"],
)
pinned(
    "M-E12",
    "Equation (12), share over n gateways with short queues",
    lambda: [six_digits("B_0/B at n = 1, 2, 3, 4, 5, 6, 8, 10", m.short_queue_share(GATEWAYS), SHORT)],
    points_at=["formula short-queue-share"],
    tests=["tests/test_models_mathis97.py::test_long_queues_favour_long_paths"],
)
pinned(
    "M-E13",
    "Equation (13), share over n gateways with long queues",
    lambda: [six_digits("B_0/B at n = 1, 2, 3, 4, 5, 6, 8, 10", m.long_queue_share(GATEWAYS), LONG)],
    points_at=["formula long-queue-share"],
    tests=["tests/test_models_mathis97.py::test_long_queues_favour_long_paths"],
)
pinned(
    "M-E14",
    "Equation (14), loss needed for a target rate",
    losses,
    points_at=["formula loss-for-rate"],
    tests=["tests/test_models_mathis97.py::test_the_loss_for_a_rate_gives_that_rate"],
)
pinned(
    "M-E15",
    "Equation (15), window after rate-halving",
    halving,
    {"the brackets": "they round down; the copy does not show whether they do"},
    points_at=["formula rate-halving-window"],
    tests=["tests/test_models_mathis97.py::test_rate_halving_never_leaves_more_than_half"],
)
pinned(
    "M-E16",
    "Appendix B, overshoot of slow-start",
    overshoot,
    {"the peak window in bytes": "384 kB by arithmetic; the paper prints 6 Mbytes"},
    points_at=["formula overshoot-signals", "formula overshoot-packets", "formula overshoot-factor"],
    tests=["tests/test_models_mathis97.py::test_each_signal_halves_the_overshoot"],
)
pinned(
    "M-E17",
    "Modem arithmetic",
    modem,
    {"time for a packet in the peak window": "277.8 ms, rounded; 6.44 packets without rounding"},
    points_at=["formula filled-window", "formula transfer-time", "formula packet-spacing"],
    tests=["tests/test_models_mathis97.py::test_a_filled_path_without_queue_is_the_bandwidth_delay_product"],
)
