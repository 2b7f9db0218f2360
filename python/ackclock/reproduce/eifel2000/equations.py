"""The formulas E-E1 to E-E17 at the register's points: SRTT = 2 and RTTVAR = 0.5 unless said
otherwise.
"""

from __future__ import annotations

import numpy as np

from ackclock.models import eifel2000 as e
from ackclock.models.eifel2000 import exact
from ackclock.reproduce.item import Check, pinned, six_digits

ESTIMATOR = "crates/ackclock-policy/src/estimator"


def _step(
    sample: float, flight: float = 6, rate: float = 1.0, srtt: float = 2.0, rttvar: float = 0.5
) -> list[float]:
    """SRTT, RTTVAR and RTO of the Eifel timer after a sample, by all of its equations."""
    gain = e.eifel_gain(flight, rate)
    var = e.eifel_rttvar(rttvar, srtt, sample, e.eifel_shock_gain(sample, srtt, rttvar, gain))
    smoothed = e.eifel_srtt(srtt, sample, gain)
    return [float(smoothed), float(var), float(e.eifel_rto(smoothed, var, gain, sample))]


def _driven(sample: float, rate: float = 1.0, srtt: float = 2.0, rttvar: float = 0.5) -> list[float]:
    """The same from the timer that connections run, at SSTHRESH 5 and CWND 6."""
    made = exact("eifel").step(srtt, rttvar, sample, flight_size=6, cwnd=6, ssthresh=5, sampling_rate=rate)
    return [float(made[name]) for name in ("srtt", "rttvar", "rto")]


def lite_step() -> list[Check]:
    """E-E4, by equation and by timer."""
    made = exact("lite").step(2.0, 0.5, UP_DOWN)
    return [
        six_digits("samples 3 and 1", e.lite_rto([2.125, 1.875], 0.625), [4.625, 4.375]),
        six_digits("the same by the timer `lite`", made["rto"], [4.625, 4.375]),
        six_digits("two ticks of 3", e.lite_rto(2.125, 0.625, 3), 6),
    ]


UP_DOWN = np.array([3.0, 1.0])

pinned("E-E1", "Lite error", lambda: [six_digits("samples 3 and 1", e.lite_error(UP_DOWN, 2), [1, -1])])
pinned(
    "E-E2",
    "Lite smoothed round-trip time",
    lambda: [six_digits("samples 3 and 1", e.lite_srtt(2, UP_DOWN), [2.125, 1.875])],
)
pinned(
    "E-E3",
    "Lite smoothed deviation",
    lambda: [six_digits("samples 3 and 1", e.lite_rttvar(0.5, 2, UP_DOWN), [0.625, 0.625])],
)
pinned(
    "E-E4",
    "Lite timeout",
    lite_step,
    points_at=["estimator lite"],
    tests=[f"{ESTIMATOR}/jacobson88.rs::the_lite_timer_rises_when_the_rtt_falls"],
)
pinned(
    "E-E5",
    "Eifel error",
    lambda: [six_digits("samples 3, 2.2 and 1", e.eifel_error([3, 2.2, 1], 2), [1, 0.2, -1])],
)
pinned(
    "E-E6",
    "Flight estimate",
    lambda: [
        six_digits(
            "flight (segments) with SSTHRESH, CWND of 5, 6 and 13, 26",
            e.eifel_flight([5, 13], [6, 26]),
            [6, 14],
        )
    ],
)
pinned(
    "E-E7",
    "Gain",
    lambda: [
        six_digits("flight 6 at rates 1 and 1/2", e.eifel_gain(6, [1, 0.5]), [0.166667, 0.333333]),
        six_digits("one sample per RTT", e.eifel_gain([6, 40], [1 / 6, 1 / 40]), [0.333333, 0.333333]),
    ],
)
pinned(
    "E-E8",
    "Shock-absorbing gain",
    lambda: [
        six_digits(
            "flight 6, samples 3 and 2.2: GAIN^2 where it shrinks",
            e.eifel_shock_gain([3, 2.2], 2, 0.5, 1 / 6),
            [0.166667, 0.0277778],
        ),
        six_digits(
            "the prose at rate 1: the same",
            e.eifel_shock_gain_prose([3, 2.2], 2, 0.5, 1 / 6, 6),
            [0.166667, 0.0277778],
        ),
        six_digits(
            "both at rate 1/2",
            [e.eifel_shock_gain(2.2, 2, 0.5, 1 / 3), e.eifel_shock_gain_prose(2.2, 2, 0.5, 1 / 3, 6)],
            [1 / 9, 1 / 18],
        ),
    ],
    {
        "the two readings": "the equation's GAIN^2 by default; the prose's GAIN/FLIGHT differs off "
        "sampling rate 1"
    },
)
pinned(
    "E-E9",
    "Eifel smoothed round-trip time",
    lambda: [
        six_digits("samples 3, 2.2, 1", e.eifel_srtt(2, [3, 2.2, 1], 1 / 6), [2.16667, 2.03333, 1.83333])
    ],
)
pinned(
    "E-E10",
    "Eifel deviation",
    lambda: [
        six_digits(
            "samples 3, 2.2, 1",
            e.eifel_rttvar(0.5, 2, [3, 2.2, 1], [1 / 6, 1 / 36, 1 / 36]),
            [0.583333, 0.491667, 0.5],
        )
    ],
)
pinned(
    "E-E11",
    "Variation weight",
    lambda: [
        six_digits(
            "flight 6; one sample per RTT; m = 2",
            e.eifel_weight([1 / 6, 1 / 3, 1 / 6], [1, 1, 2]),
            [6, 3, 12],
        )
    ],
)
CASES = [(3, 1), (2.2, 1), (1, 1), (3, 0.5), (3, 1 / 6), (1, 1 / 6)]
RATES = {1: "", 0.5: " at rate 1/2", 1 / 6: ", one per RTT"}
GOLDEN = [
    *([2.16667, 0.583333, 5.66667], [2.03333, 0.491667, 4.98333], [1.83333, 0.5, 4.83333]),
    *([2.33333, 0.666667, 4.33333], [2.33333, 0.666667, 4.33333], [1.66667, 0.5, 3.16667]),
]
pinned(
    "E-E12",
    "Eifel timeout",
    lambda: [
        *(
            six_digits(f"SRTT, RTTVAR, RTO (s): sample {m:g}{RATES[rate]}", _step(m, rate=rate), row)
            for (m, rate), row in zip(CASES, GOLDEN, strict=True)
        ),
        six_digits("jump from SRTT 5, RTTVAR 0 to 8", _step(8, srtt=5, rttvar=0), [5.5, 0.5, 8.5]),
        six_digits(
            "the same six by the timer `eifel`",
            np.ravel([_driven(*case) for case in CASES]),
            np.ravel(GOLDEN),
        ),
        six_digits("and the jump", _driven(8, srtt=5, rttvar=0), [5.5, 0.5, 8.5]),
        six_digits("the floor: sample 3 and two ticks of 2", e.eifel_rto(2.16667, 0.583333, 1 / 6, 3, 2), 7),
    ],
    points_at=["estimator eifel"],
    tests=[
        f"{ESTIMATOR}/eifel.rs::the_equations_give_the_golden_values",
        f"{ESTIMATOR}/eifel.rs::a_jump_is_added_whole",
    ],
)
pinned(
    "E-E13",
    "Eifel countdown",
    lambda: [six_digits("time left (s) with RTO 5 s, ages 2 and 7 s", e.eifel_countdown(5, [2, 7]), [3, 0])],
)
pinned(
    "E-E14",
    "Cycle length",
    lambda: [
        six_digits(
            "segments of a cycle with MAXCWND 26, 10, 40", e.cycle_length([26, 10, 40]), [253.5, 37.5, 600]
        )
    ],
)
pinned(
    "E-E15",
    "Aggressiveness",
    lambda: [
        six_digits("0.67 after a spurious timeout", e.agg_rise(0.67), 0.835),
        six_digits(
            "a cycle of 260 samples, k = 0.05 and 0.1",
            e.agg_decay(1, [0.05, 0.1], 253.5, 260),
            [0.950006, 0.902502],
        ),
    ],
)
pinned(
    "E-E16",
    "Aggressive timeout",
    lambda: [six_digits("timeout (s) with AGG 0.67, RTO 10 s", e.rto_agg(0.67, 10), 6.7)],
)
pinned(
    "E-E17",
    "Arithmetic of the testbed",
    lambda: [
        six_digits(
            "40 packets of 1500 bytes with 10 and 8 bits for each byte",
            e.serial_time(40, 1500, 2400, [10, 8]),
            [250, 200],
        ),
        six_digits(
            "service time, and in ticks of 0.5 s", e.serial_time(1, 1500, 2400) / [1, 0.5], [6.25, 12.5]
        ),
    ],
)
