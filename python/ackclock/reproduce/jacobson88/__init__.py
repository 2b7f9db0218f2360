"""Jacobson & Karels, "Congestion Avoidance and Control" (1988, revised 1992). The order of the imports is that of the register."""

from ackclock.reproduce.jacobson88 import (  # isort: skip
    algorithms,
    equations,
    f5_rfc793_timer,
    f6_mean_and_deviation,
    n4_damage_loss,
    n6_drop_rate,
    n7_pause,
    n8_two_pairs,
    n9_twelve_packets,
    x2_weight,
    x7_tick_bias,
    x8_asymmetry,
    x12_low_and_high_load,
)

__all__ = [
    "algorithms",
    "equations",
    "f5_rfc793_timer",
    "f6_mean_and_deviation",
    "n4_damage_loss",
    "n6_drop_rate",
    "n7_pause",
    "n8_two_pairs",
    "n9_twelve_packets",
    "x2_weight",
    "x7_tick_bias",
    "x8_asymmetry",
    "x12_low_and_high_load",
]
