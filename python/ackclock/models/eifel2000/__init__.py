"""Ludwig & Sklower, "The Eifel Retransmission Timer" (2000): its formulas, and its step-by-step model."""

from ackclock.models.eifel2000.eifel import (
    eifel_countdown,
    eifel_error,
    eifel_flight,
    eifel_gain,
    eifel_rto,
    eifel_rttvar,
    eifel_shock_gain,
    eifel_shock_gain_prose,
    eifel_srtt,
    eifel_weight,
)
from ackclock.models.eifel2000.lite import lite_error, lite_rto, lite_rttvar, lite_srtt
from ackclock.models.eifel2000.row_model import SAMPLINGS, RowModel, exact
from ackclock.models.eifel2000.rows import Rows
from ackclock.models.eifel2000.self_trained import agg_decay, agg_rise, cycle_length, rto_agg, serial_time
from ackclock.models.eifel2000.series_model import SeriesModel

__all__ = [
    "SAMPLINGS",
    "RowModel",
    "Rows",
    "SeriesModel",
    "agg_decay",
    "agg_rise",
    "cycle_length",
    "eifel_countdown",
    "eifel_error",
    "eifel_flight",
    "eifel_gain",
    "eifel_rto",
    "eifel_rttvar",
    "eifel_shock_gain",
    "eifel_shock_gain_prose",
    "eifel_srtt",
    "eifel_weight",
    "exact",
    "lite_error",
    "lite_rto",
    "lite_rttvar",
    "lite_srtt",
    "rto_agg",
    "serial_time",
]
