"""Mondal & Kuzmanovic, "Removing Exponential Backoff from TCP" (2008)."""

from ackclock.models.backoff2008.backed_off_load import backed_off_load
from ackclock.models.backoff2008.dead_packets import dead_packets
from ackclock.models.backoff2008.required_exponent import required_exponent
from ackclock.models.backoff2008.response_time import response_time
from ackclock.models.backoff2008.response_time_with_backoff import response_time_with_backoff
from ackclock.models.backoff2008.response_time_without_backoff import response_time_without_backoff
from ackclock.models.backoff2008.retransmission_loss import retransmission_loss
from ackclock.models.backoff2008.retransmitters import Retransmitters
from ackclock.models.backoff2008.survey import survey_backoff
from ackclock.models.backoff2008.syn_rejection import syn_rejection

__all__ = [
    "Retransmitters",
    "backed_off_load",
    "dead_packets",
    "required_exponent",
    "response_time",
    "response_time_with_backoff",
    "response_time_without_backoff",
    "retransmission_loss",
    "survey_backoff",
    "syn_rejection",
]
