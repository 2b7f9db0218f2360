"""The Lite timer, E-E1 to E-E4."""

import numpy as np

from ackclock.models.formula import Array, Input, floats, formula
from ackclock.models.timer import step

SAMPLE = Input("span", "round-trip time measured")
SRTT = Input("span", "smoothed round-trip time before the sample")
RTTVAR = Input("span", "mean deviation before the sample")
TICK = Input("span", "tick of the timer's clock", default=0.0)


@formula("E-E1", name="lite-error", result="DELTA_L", unit="s", sample=SAMPLE, srtt=SRTT)
def lite_error(sample: Array, srtt: Array) -> Array:
    """Error of the Lite timer's prediction.

    `DELTA_L = RTT_Sample - SRTT_L`.

    sample, srtt: seconds, shapes that broadcast. Returns seconds.
    Source: Ludwig & Sklower 2000 (unnumbered).
    """
    sample, srtt = floats(sample, srtt)
    return sample - srtt


@formula("E-E2", name="lite-srtt", result="SRTT_L", unit="s", srtt=SRTT, sample=SAMPLE)
def lite_srtt(srtt: Array, sample: Array) -> Array:
    """Smoothed round-trip time of the Lite timer after a sample.

    `SRTT_L + DELTA_L/8`.

    srtt, sample: seconds, shapes that broadcast. Returns seconds.
    Source: Ludwig & Sklower 2000 (unnumbered).
    """
    srtt, sample = floats(srtt, sample)
    return step("jacobson88", srtt, 0.0, sample)["srtt"]


@formula("E-E3", name="lite-rttvar", result="RTTVAR_L", unit="s", rttvar=RTTVAR, srtt=SRTT, sample=SAMPLE)
def lite_rttvar(rttvar: Array, srtt: Array, sample: Array) -> Array:
    """Smoothed mean deviation of the Lite timer after a sample.

    `RTTVAR_L + (abs(DELTA_L) - RTTVAR_L)/4`, with the old SRTT in DELTA_L.

    rttvar, srtt, sample: seconds, shapes that broadcast. Returns seconds.
    Source: Ludwig & Sklower 2000 (unnumbered).
    """
    rttvar, srtt, sample = floats(rttvar, srtt, sample)
    return step("jacobson88", srtt, rttvar, sample)["rttvar"]


@formula(
    "E-E4",
    name="lite-rto",
    result="RTO_L",
    unit="s",
    srtt=Input("span", "smoothed round-trip time after the sample"),
    rttvar=Input("span", "mean deviation after the sample"),
    tick=TICK,
)
def lite_rto(srtt: Array, rttvar: Array, tick: Array = 0.0) -> Array:
    """Timeout of the Lite timer.

    `max(SRTT_L + 4 RTTVAR_L, 2 ticks)`.

    srtt, rttvar, tick: seconds, shapes that broadcast. Returns seconds.
    Source: Ludwig & Sklower 2000 (unnumbered).
    """
    srtt, rttvar, tick = floats(srtt, rttvar, tick)
    return np.maximum(srtt + 4.0 * rttvar, 2.0 * tick)
