"""Mathis, Semke, Mahdavi & Ott, "The Macroscopic Behavior of the TCP Congestion Avoidance Algorithm" (1997). The order is that of the register."""

from ackclock.reproduce.mathis97 import (  # isort: skip
    algorithms,
    equations,
    t2_phase_effects,
    t3_long_queue,
    f5_propagation_rtt,
    f6_measured_rtt,
    f7_phase_topology,
    x1_model_arithmetic,
    x2_link_statistics,
    x5_segment_size,
    x9_local_constant,
    x10_one_drop,
    x12_tahoe,
    x15_red_side_effects,
)

__all__ = [
    "algorithms",
    "equations",
    "t2_phase_effects",
    "t3_long_queue",
    "f5_propagation_rtt",
    "f6_measured_rtt",
    "f7_phase_topology",
    "x1_model_arithmetic",
    "x2_link_statistics",
    "x5_segment_size",
    "x9_local_constant",
    "x10_one_drop",
    "x12_tahoe",
    "x15_red_side_effects",
]
