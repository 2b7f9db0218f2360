"""Timers: J-E3 to J-E7, J-E17, J-E18. One step of a filter is that of the timer which connections run."""

import numpy as np

from ackclock.models.formula import Array, Input, floats, formula
from ackclock.models.timer import step


@formula(
    "J-E3",
    name="rfc793-srtt",
    result="R",
    unit="s",
    srtt=Input("span", "smoothed round-trip time before"),
    sample=Input("span", "round-trip time measured"),
    alpha=Input("ratio", "weight of the old estimate", default=0.9),
)
def rfc793_srtt(srtt: Array, sample: Array, alpha: Array = 0.9) -> Array:
    """Smoothed round-trip time of RFC 793 after a sample.

    alpha R + (1 - alpha) M.

    srtt, sample: seconds; alpha: a ratio. Shapes that broadcast. Returns seconds.
    Source: Jacobson & Karels 1988 (unnumbered).
    """
    srtt, sample, alpha = floats(srtt, sample, alpha)
    return step("rfc793", srtt, 0.0, sample, alpha=alpha)["srtt"]


@formula(
    "J-E3",
    name="rfc793-rto",
    result="rto",
    unit="s",
    srtt=Input("span", "smoothed round-trip time"),
    beta=Input("number", "timeout in smoothed round-trip times", default=2.0),
)
def rfc793_rto(srtt: Array, beta: Array = 2.0) -> Array:
    """Timeout of RFC 793, without bounds.

    beta R.

    srtt: seconds; beta: a number. Shapes that broadcast. Returns seconds.
    Source: Jacobson & Karels 1988 (unnumbered).
    """
    srtt, beta = floats(srtt, beta)
    return beta * srtt


@formula(
    "J-E4",
    name="mean-update",
    result="a",
    unit="s",
    mean=Input("span", "mean before"),
    sample=Input("span", "round-trip time measured"),
    g=Input("ratio", "gain", default=0.125),
)
def mean_update(mean: Array, sample: Array, g: Array = 0.125) -> Array:
    """Mean after a sample, in the error form.

    a + g (m - a).

    mean, sample: seconds; g: a ratio. Shapes that broadcast. Returns seconds.
    Source: Jacobson & Karels 1988 (unnumbered).
    """
    mean, sample, g = floats(mean, sample, g)
    return step("jacobson88", mean, 0.0, sample, g=g)["srtt"]


@formula("J-E4", name="mean-sdev", result="sdev", unit="", g=Input("ratio", "gain", default=0.125))
def mean_sdev(g: Array = 0.125) -> Array:
    """Standard deviation of the mean estimate, in standard deviations of independent samples.

    sqrt(g/(2 - g)). The paper prints g instead: see mean-sdev-paper.

    g: a ratio, any shape. Returns a ratio.
    Source: Jacobson & Karels 1988 (unnumbered).
    """
    (g,) = floats(g)
    return np.sqrt(g / (2.0 - g))


@formula("J-E4", name="mean-sdev-paper", result="sdev", unit="", g=Input("ratio", "gain", default=0.125))
def mean_sdev_paper(g: Array = 0.125) -> Array:
    """Standard deviation of the mean estimate as the paper prints it, which is too small.

    g.

    g: a ratio, any shape. Returns a ratio.
    Source: Jacobson & Karels 1988 (unnumbered).
    """
    (g,) = floats(g)
    return g + 0.0


@formula("J-E5", name="sdev-of-mdev", result="sdev", unit="s", mdev=Input("span", "mean deviation"))
def sdev_of_mdev(mdev: Array) -> Array:
    """Standard deviation of normal errors with a mean deviation.

    sdev = sqrt(pi/2) mdev. The paper prints it the other way round: see sdev-of-mdev-paper.

    mdev: seconds, any shape. Returns seconds.
    Source: Jacobson & Karels 1988 (unnumbered).
    """
    (mdev,) = floats(mdev)
    return np.sqrt(np.pi / 2.0) * mdev


@formula("J-E5", name="sdev-of-mdev-paper", result="sdev", unit="s", mdev=Input("span", "mean deviation"))
def sdev_of_mdev_paper(mdev: Array) -> Array:
    """Standard deviation of normal errors with a mean deviation as the paper prints it: the wrong way round.

    mdev = sqrt(pi/2) sdev.

    mdev: seconds, any shape. Returns seconds.
    Source: Jacobson & Karels 1988 (unnumbered).
    """
    (mdev,) = floats(mdev)
    return mdev / np.sqrt(np.pi / 2.0)


@formula(
    "J-E6",
    name="scaled-mean",
    result="2^n a",
    unit="ticks",
    sa=Input("number", "2^n times the mean before, ticks"),
    sample=Input("number", "measurement, ticks"),
    n=Input("count", "shift", default=3),
)
def scaled_mean(sa: Array, sample: Array, n: Array = 3) -> Array:
    """Scaled integer mean after a sample.

    2^n a + (m - floor(2^n a / 2^n)), for any n; the timer `jacobson88-ticks` has n = 3.

    sa, sample: ticks; n: whole. Shapes that broadcast. Returns ticks.
    Source: Jacobson & Karels 1988 (unnumbered).
    """
    sa, sample, n = floats(sa, sample, n)
    return sa + (sample - np.floor(sa / 2.0**n))


@formula(
    "J-E6",
    name="scaled-deviation",
    result="2^n v",
    unit="ticks",
    sv=Input("number", "2^n times the deviation before, ticks"),
    sa=Input("number", "scaled mean before, ticks"),
    sample=Input("number", "measurement, ticks"),
    n=Input("count", "shift of the deviation; 2 in the final timer", default=3),
    mean_n=Input("count", "shift of the mean", default=3),
)
def scaled_deviation(sv: Array, sa: Array, sample: Array, n: Array = 3, mean_n: Array = 3) -> Array:
    """Scaled integer deviation after a sample.

    2^n v + (|Err| - floor(2^n v / 2^n)), Err from the old mean, for any n; the timer `jacobson88-ticks` has n
    = 2 (`final`) or 3 (`one-gain`).

    sv, sa, sample: ticks; n, mean_n: whole. Shapes that broadcast. Returns ticks.
    Source: Jacobson & Karels 1988 (unnumbered).
    """
    sv, sa, sample, n, mean_n = floats(sv, sa, sample, n, mean_n)
    return sv + (np.abs(sample - np.floor(sa / 2.0**mean_n)) - np.floor(sv / 2.0**n))


@formula(
    "J-E7",
    name="deviation-update",
    result="v",
    unit="s",
    deviation=Input("span", "mean deviation before"),
    mean=Input("span", "mean before"),
    sample=Input("span", "round-trip time measured"),
    h=Input("ratio", "gain", default=0.25),
)
def deviation_update(deviation: Array, mean: Array, sample: Array, h: Array = 0.25) -> Array:
    """Mean deviation after a sample.

    v + h (|m - a| - v), with the old mean.

    deviation, mean, sample: seconds; h: a ratio. Shapes that broadcast. Returns seconds.
    Source: Jacobson & Karels 1988 (unnumbered).
    """
    deviation, mean, sample, h = floats(deviation, mean, sample, h)
    return step("jacobson88", mean, deviation, sample, h=h)["rttvar"]


@formula(
    "J-E7",
    name="mean-deviation-rto",
    result="rto",
    unit="s",
    mean=Input("span", "mean after the sample"),
    deviation=Input("span", "mean deviation after the sample"),
    weight=Input("number", "weight of the deviation; 2 in 1988", default=4.0),
)
def mean_deviation_rto(mean: Array, deviation: Array, weight: Array = 4.0) -> Array:
    """The final timer, without bounds.

    a + 4 v.

    mean, deviation: seconds; weight: a number. Shapes that broadcast. Returns seconds.
    Source: Jacobson & Karels 1988 (unnumbered).
    """
    mean, deviation, weight = floats(mean, deviation, weight)
    return mean + weight * deviation


@formula(
    "J-E17",
    name="doubling-margin",
    result="ratio",
    unit="",
    weight=Input("number", "weight of the deviation", default=4.0),
)
def doubling_margin(weight: Array = 4.0) -> Array:
    """Timeout over the round-trip time while it doubles each round, with the unfiltered difference as the
    paper argues.

    1 + weight/2, to be compared with the next round-trip time, 2. The filter itself gives less: see
    doubling-margin-filtered.

    weight: a number, any shape. Returns a ratio.
    Source: Jacobson & Karels 1988 (unnumbered).
    """
    (weight,) = floats(weight)
    return 1.0 + weight / 2.0


@formula(
    "J-E17",
    name="doubling-margin-filtered",
    result="ratio",
    unit="",
    weight=Input("number", "weight of the deviation", default=4.0),
    g=Input("ratio", "gain of the mean", default=0.125),
    h=Input("ratio", "gain of the deviation", default=0.25),
)
def doubling_margin_filtered(weight: Array = 4.0, g: Array = 0.125, h: Array = 0.25) -> Array:
    """Timeout over the round-trip time while it doubles each round, with the filters, after many rounds.

    a/R + weight v/R with a/R = 2g/(1+g), v/R = 2h (1 - a/2R)/(1+h), to be compared with the next round-trip
    time, 2.

    weight: a number; g, h: ratios. Shapes that broadcast. Returns a ratio.
    Source: Jacobson & Karels 1988 (unnumbered).
    """
    weight, g, h = floats(weight, g, h)
    return 2.0 * g / (1.0 + g) + weight * 2.0 * h * (1.0 - g / (1.0 + g)) / (1.0 + h)


@formula(
    "J-E18",
    name="deviation-decay",
    result="decay",
    unit="samples",
    h=Input("ratio", "gain of the deviation", default=0.25),
    weight=Input("number", "its weight in the timeout", default=4.0),
)
def deviation_decay(h: Array = 0.25, weight: Array = 4.0) -> Array:
    """Samples within which the deviation's share of the timeout decays.

    -weight/ln(1 - h). The paper's twelve comes of a filter rounded to 3 samples.

    h: a ratio; weight: a number. Shapes that broadcast. Returns samples.
    Source: Jacobson & Karels 1988 (unnumbered).
    """
    h, weight = floats(h, weight)
    return -weight / np.log1p(-h)
