"""Mondal & Kuzmanovic, "When TCP Friendliness Becomes Harmful" (2007)."""

from ackclock.models.interactive2007.backlogged import (
    backlogged_failed_latency,
    backlogged_gain,
    backlogged_latency,
)
from ackclock.models.interactive2007.diversity import diversity_failures, diversity_latency
from ackclock.models.interactive2007.interactive import failed_latency, failures, interactive_latency
from ackclock.models.interactive2007.padding import padded_latency, padded_timeouts
from ackclock.models.interactive2007.smart_framing import (
    break_even_loss,
    framed_recovery,
    framed_success,
    framed_timeout,
)
from ackclock.models.interactive2007.sustained import flows_sustained
from ackclock.models.interactive2007.timeouts import (
    correlated_timeouts,
    random_timeouts,
    random_timeouts_at,
    random_timeouts_bound,
    random_timeouts_loose,
)

__all__ = [
    "backlogged_failed_latency",
    "backlogged_gain",
    "backlogged_latency",
    "break_even_loss",
    "correlated_timeouts",
    "diversity_failures",
    "diversity_latency",
    "failed_latency",
    "failures",
    "flows_sustained",
    "framed_recovery",
    "framed_success",
    "framed_timeout",
    "interactive_latency",
    "padded_latency",
    "padded_timeouts",
    "random_timeouts",
    "random_timeouts_at",
    "random_timeouts_bound",
    "random_timeouts_loose",
]
