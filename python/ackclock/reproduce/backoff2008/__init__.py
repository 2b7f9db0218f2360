"""Mondal & Kuzmanovic, "Removing Exponential Backoff from TCP" (2008). The order of the imports is that of the register."""

from ackclock.reproduce.backoff2008 import (  # isort: skip
    e1_loss_ratio,
    e2_response_time,
    e3_without_backoff,
    e4_backed_off_load,
    e5_required_exponent,
    e6_with_backoff,
    e7_dead_packets,
    e8_syn_rejection,
    f1_multipliers,
    f2a_short_flows,
)

__all__ = [
    "e1_loss_ratio",
    "e2_response_time",
    "e3_without_backoff",
    "e4_backed_off_load",
    "e5_required_exponent",
    "e6_with_backoff",
    "e7_dead_packets",
    "e8_syn_rejection",
    "f1_multipliers",
    "f2a_short_flows",
]
