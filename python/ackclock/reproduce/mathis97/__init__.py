"""Mathis, Semke, Mahdavi & Ott, "The Macroscopic Behavior of the TCP Congestion Avoidance Algorithm" (1997). The order is that of the register."""

from ackclock.reproduce.mathis97 import (  # isort: skip
    algorithms,
    equations,
    x1_model_arithmetic,
    x5_segment_size,
)

__all__ = ["algorithms", "equations", "x1_model_arithmetic", "x5_segment_size"]
