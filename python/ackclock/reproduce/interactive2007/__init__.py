"""Mondal & Kuzmanovic, "When TCP Friendliness Becomes Harmful" (2007). The order of the imports is that of the register."""

from ackclock.reproduce.interactive2007 import (  # isort: skip
    algorithms,
    equations,
    f2_decision_tree,
    f3_latency,
    f4_gain,
    f5a_cross_traffic,
    f5b_artificial_loss,
    f6_one_more,
    f7_approaches,
    f8a_red,
    f8b_drop_tail,
    x1_always_timeout,
    x2_first_packet,
    x3_loss_memory,
    x7_marks,
)

__all__ = [
    "algorithms",
    "equations",
    "f2_decision_tree",
    "f3_latency",
    "f4_gain",
    "f5a_cross_traffic",
    "f5b_artificial_loss",
    "f6_one_more",
    "f7_approaches",
    "f8a_red",
    "f8b_drop_tail",
    "x1_always_timeout",
    "x2_first_packet",
    "x3_loss_memory",
    "x7_marks",
]
