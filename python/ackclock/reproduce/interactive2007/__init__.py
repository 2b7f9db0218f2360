"""Mondal & Kuzmanovic, "When TCP Friendliness Becomes Harmful" (2007). The order of the imports is that of the register."""

from ackclock.reproduce.interactive2007 import (  # isort: skip
    equations,
    f2_decision_tree,
    f3_latency,
    f4_gain,
    f5a_cross_traffic,
    f5b_artificial_loss,
    f6_one_more,
    f7_approaches,
)

__all__ = ["equations", "f2_decision_tree", "f3_latency", "f4_gain", "f5a_cross_traffic", "f5b_artificial_loss", "f6_one_more", "f7_approaches"]
