"""Cardwell, Savage & Anderson, "Modeling TCP Latency" (2000): short transfers."""

from ackclock.models.cardwell2000.latency import (
    handshake_time,
    loss_latency,
    slow_start_data,
    slow_start_data_printed,
    slow_start_latency,
    slow_start_window,
    transfer_latency,
)

__all__ = [
    "handshake_time",
    "loss_latency",
    "slow_start_data",
    "slow_start_data_printed",
    "slow_start_latency",
    "slow_start_window",
    "transfer_latency",
]
