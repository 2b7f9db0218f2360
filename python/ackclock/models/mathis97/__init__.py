"""Mathis, Semke, Mahdavi & Ott, "The Macroscopic Behavior of the TCP Congestion Avoidance Algorithm" (1997):
its formulas.
"""

from ackclock.models.mathis97.bandwidth import (
    average_window,
    bandwidth,
    bandwidth_bound,
    loss_for_rate,
    peak_window,
    periodic_bandwidth,
    power_law,
    power_law_window,
)
from ackclock.models.mathis97.fit import Fit, fit
from ackclock.models.mathis97.gateways import gateway_ratio, long_queue_share, path_loss, short_queue_share
from ackclock.models.mathis97.windows import (
    filled_window,
    overshoot_factor,
    overshoot_packets,
    overshoot_signals,
    rate_halving_window,
    transfer_time,
)

__all__ = [
    "Fit",
    "average_window",
    "bandwidth",
    "bandwidth_bound",
    "filled_window",
    "fit",
    "gateway_ratio",
    "long_queue_share",
    "loss_for_rate",
    "overshoot_factor",
    "overshoot_packets",
    "overshoot_signals",
    "path_loss",
    "peak_window",
    "periodic_bandwidth",
    "power_law",
    "power_law_window",
    "rate_halving_window",
    "short_queue_share",
    "transfer_time",
]
