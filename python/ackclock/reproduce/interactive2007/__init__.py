"""Mondal & Kuzmanovic, "When TCP Friendliness Becomes Harmful" (2007). The order of the imports is that of the register."""

from ackclock.reproduce.interactive2007 import (  # isort: skip
    strategies,
    equations,
    f2_decision_tree,
    f3_latency,
    f4_gain,
    f5b_artificial_loss,
    f7_approaches,
    f9a_sustained_red,
    f9b_sustained_drop_tail,
    f10_packet_size,
    f11_framing_states,
    f12a_framing_drop_tail,
    f12b_framing_red,
    x4_minimum_rto,
    x5_window_accounting,
)

__all__ = [
    "equations",
    "f2_decision_tree",
    "f3_latency",
    "f4_gain",
    "f5b_artificial_loss",
    "f7_approaches",
    "f9a_sustained_red",
    "f9b_sustained_drop_tail",
    "f10_packet_size",
    "f11_framing_states",
    "f12a_framing_drop_tail",
    "f12b_framing_red",
    "strategies",
    "x4_minimum_rto",
    "x5_window_accounting",
]
