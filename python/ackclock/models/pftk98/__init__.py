"""Padhye, Firoiu, Towsley & Kurose, "Modeling TCP Throughput: A Simple Model and its Empirical Validation"
(1998).
"""

from ackclock.models.pftk98.throughput import (
    approximate_rate,
    backoff_factor,
    expected_window,
    send_rate,
    throughput,
    timeout_share,
)

__all__ = [
    "approximate_rate",
    "backoff_factor",
    "expected_window",
    "send_rate",
    "throughput",
    "timeout_share",
]
