"""Ludwig & Sklower, "The Eifel Retransmission Timer" (2000). The order of the imports is that of the register."""

from ackclock.reproduce.eifel2000 import (  # isort: skip
    algorithms,
    equations,
    e18_golden_rows,
    f1_round_trip_times,
    f3_prediction_flaw,
    f4_collapse,
    f6_no_spikes,
    f7_scaling,
    f10_self_trained,
    x2_sampling_rate,
    x4_jump,
    x5_one_sample,
    x6_floor,
)

__all__ = [
    "algorithms",
    "e18_golden_rows",
    "equations",
    "f1_round_trip_times",
    "f3_prediction_flaw",
    "f4_collapse",
    "f6_no_spikes",
    "f7_scaling",
    "f10_self_trained",
    "x2_sampling_rate",
    "x4_jump",
    "x5_one_sample",
    "x6_floor",
]
