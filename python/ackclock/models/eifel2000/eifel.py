"""The Eifel timer, E-E5 to E-E13."""

import numpy as np

from ackclock.models.eifel2000.lite import RTTVAR, SAMPLE, SRTT, TICK
from ackclock.models.formula import Array, Input, floats, formula

GAIN = Input("number", "GAIN, as `eifel-gain` gives it")
FLIGHT = Input("packets", "flight estimate, as `eifel-flight` gives it, segments")


@formula("E-E5", name="eifel-error", result="DELTA_E", unit="s", sample=SAMPLE, srtt=SRTT)
def eifel_error(sample: Array, srtt: Array) -> Array:
    """Error of the Eifel timer's prediction.

    `DELTA_E = RTT_Sample - SRTT_E`.

    sample, srtt: seconds, shapes that broadcast. Returns seconds.
    Source: Ludwig & Sklower 2000 (unnumbered).
    """
    sample, srtt = floats(sample, srtt)
    return sample - srtt


@formula(
    "E-E6",
    name="eifel-flight",
    result="FLIGHT_E",
    unit="segments",
    ssthresh=Input("packets", "slow-start threshold, segments"),
    cwnd=Input("packets", "congestion window, segments"),
)
def eifel_flight(ssthresh: Array, cwnd: Array) -> Array:
    """Flight estimate, a lower bound of the load.

    `max(SSTHRESH, CWND/2) + 1`.

    ssthresh, cwnd: segments, shapes that broadcast. Returns segments.
    Source: Ludwig & Sklower 2000 (unnumbered).
    """
    ssthresh, cwnd = floats(ssthresh, cwnd)
    return np.maximum(ssthresh, cwnd / 2.0) + 1.0


@formula(
    "E-E7",
    name="eifel-gain",
    result="GAIN_E",
    unit="",
    flight=FLIGHT,
    rate=Input("ratio", "samples for each segment sent", default=1.0),
)
def eifel_gain(flight: Array, rate: Array = 1.0) -> Array:
    """Gain by flight and sampling rate.

    `1/(rate FLIGHT)`: 1/FLIGHT where every segment is timed, 2/FLIGHT with delayed acks. Where it makes one
    sample or less for a flight, 1/3.

    flight: segments. rate: a ratio. Shapes that broadcast. Returns a gain.
    Source: Ludwig & Sklower 2000 (unnumbered).
    """
    flight, rate = floats(flight, rate)
    samples = rate * flight
    # Not 1/1 but a third: the paper's gain for one sample per round trip. The slack lets a rate of 1/flight
    # count as one.
    once = samples <= 1.0 + 1e-9
    return np.where(once, 1.0 / 3.0, 1.0 / np.where(once, 1.0, samples))


@formula(
    "E-E8",
    name="eifel-shock-gain",
    result="GAINBAR",
    unit="",
    sample=SAMPLE,
    srtt=SRTT,
    rttvar=RTTVAR,
    gain=GAIN,
)
def eifel_shock_gain(sample: Array, srtt: Array, rttvar: Array, gain: Array) -> Array:
    """Gain of the deviation, squared where it shrinks: the shock absorber as in the equation.

    `GAIN` where `DELTA_E - RTTVAR_E >= 0`, else `GAIN^2`. The prose differs off sampling rate 1: see
    eifel-shock-gain-prose.

    sample, srtt, rttvar: seconds; gain: a number. Shapes that broadcast. Returns a gain.
    Source: Ludwig & Sklower 2000 (unnumbered).
    """
    sample, srtt, rttvar, gain = floats(sample, srtt, rttvar, gain)
    return np.where(sample - srtt - rttvar >= 0.0, gain, gain**2)


@formula(
    "E-E8",
    name="eifel-shock-gain-prose",
    result="GAINBAR",
    unit="",
    sample=SAMPLE,
    srtt=SRTT,
    rttvar=RTTVAR,
    gain=GAIN,
    flight=FLIGHT,
)
def eifel_shock_gain_prose(sample: Array, srtt: Array, rttvar: Array, gain: Array, flight: Array) -> Array:
    """Gain of the deviation, where it shrinks divided by the flight: the shock absorber as in the prose.

    `GAIN` where `DELTA_E - RTTVAR_E >= 0`, else `GAIN/FLIGHT`, which is `GAIN^2` at sampling rate 1 alone.

    sample, srtt, rttvar: seconds; gain: a number; flight: segments. Shapes that broadcast. Returns a gain.
    Source: the other reading, Ludwig & Sklower 2000 (unnumbered).
    """
    sample, srtt, rttvar, gain, flight = floats(sample, srtt, rttvar, gain, flight)
    return np.where(sample - srtt - rttvar >= 0.0, gain, gain / flight)


@formula("E-E9", name="eifel-srtt", result="SRTT_E", unit="s", srtt=SRTT, sample=SAMPLE, gain=GAIN)
def eifel_srtt(srtt: Array, sample: Array, gain: Array) -> Array:
    """Smoothed round-trip time of the Eifel timer after a sample.

    `SRTT_E + GAIN DELTA_E`.

    srtt, sample: seconds; gain: a number. Shapes that broadcast. Returns seconds.
    Source: Ludwig & Sklower 2000 (unnumbered).
    """
    srtt, sample, gain = floats(srtt, sample, gain)
    return srtt + gain * (sample - srtt)


@formula(
    "E-E10",
    name="eifel-rttvar",
    result="RTTVAR_E",
    unit="s",
    rttvar=RTTVAR,
    srtt=SRTT,
    sample=SAMPLE,
    gain_bar=Input("number", "GAINBAR, as `eifel-shock-gain` gives it"),
)
def eifel_rttvar(rttvar: Array, srtt: Array, sample: Array, gain_bar: Array) -> Array:
    """Mean deviation of the Eifel timer after a sample: it follows upward errors alone.

    `RTTVAR_E + GAINBAR (DELTA_E - RTTVAR_E)` where `DELTA_E >= 0`, else unchanged.

    rttvar, srtt, sample: seconds; gain_bar: a number. Shapes that broadcast. Returns seconds.
    Source: Ludwig & Sklower 2000 (unnumbered).
    """
    rttvar, srtt, sample, gain_bar = floats(rttvar, srtt, sample, gain_bar)
    delta = sample - srtt
    return np.where(delta >= 0.0, rttvar + gain_bar * (delta - rttvar), rttvar)


@formula(
    "E-E11",
    name="eifel-weight",
    result="weight",
    unit="",
    gain=GAIN,
    m=Input("number", "m: more is more conservative", default=1.0),
)
def eifel_weight(gain: Array, m: Array = 1.0) -> Array:
    """Weight of the deviation in the timeout.

    `m/GAIN`; the paper's timer has m = 1.

    gain, m: numbers, shapes that broadcast. Returns a number.
    Source: Ludwig & Sklower 2000 (unnumbered).
    """
    gain, m = floats(gain, m)
    return m / gain


@formula(
    "E-E12",
    name="eifel-rto",
    result="RTO_E",
    unit="s",
    srtt=Input("span", "smoothed round-trip time after the sample"),
    rttvar=Input("span", "mean deviation after the sample"),
    gain=GAIN,
    sample=SAMPLE,
    tick=TICK,
)
def eifel_rto(srtt: Array, rttvar: Array, gain: Array, sample: Array, tick: Array = 0.0) -> Array:
    """Timeout of the Eifel timer.

    `max(SRTT_E + RTTVAR_E/GAIN_E, RTT_Sample + 2 ticks)`.

    srtt, rttvar, sample, tick: seconds; gain: a number. Shapes that broadcast. Returns seconds.
    Source: Ludwig & Sklower 2000 (unnumbered).
    """
    srtt, rttvar, gain, sample, tick = floats(srtt, rttvar, gain, sample, tick)
    return np.maximum(srtt + rttvar / gain, sample + 2.0 * tick)


@formula(
    "E-E13",
    name="eifel-countdown",
    result="REXMT_E",
    unit="s",
    rto=Input("span", "timeout"),
    age=Input("span", "age of the oldest segment"),
)
def eifel_countdown(rto: Array, age: Array) -> Array:
    """What is left of the timeout when the countdown starts again: the age of the oldest outstanding segment
    is taken off.

    `max(RTO_E - age, 0)`: where nothing is left, the timer fires at once.

    rto, age: seconds, shapes that broadcast. Returns seconds.
    Source: Ludwig & Sklower 2000 (unnumbered).
    """
    rto, age = floats(rto, age)
    return np.maximum(rto - age, 0.0)
