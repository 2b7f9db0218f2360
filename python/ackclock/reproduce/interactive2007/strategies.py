"""Approaches I to III, and Smart Framing, by what implements them here, and their tests."""

from __future__ import annotations

from ackclock.reproduce.interactive2007 import rules
from ackclock.reproduce.item import rule

POLICY = "crates/ackclock-policy/src"
APPLICATIONS = f"{POLICY}/application/tests.rs"
ENGINE = "crates/ackclock-engine/tests"
SIM = "crates/ackclock-sim/tests/scenarios/strategies.rs"

rule(
    "I-A5",
    "Differentiated minRTO (approach I)",
    "option thin_min_rto(500ms)",
    "option thin_window(0.25)",
    "stack sack+thin-min-rto(500ms)",
    tests=[
        f"{ENGINE}/it/thin.rs::a_single_packet_uses_the_smaller_minimum_at_every_expiry",
        f"{ENGINE}/it/thin.rs::above_the_fraction_the_usual_minimum_applies",
        f"{ENGINE}/it/thin.rs::the_fraction_is_an_option",
        f"{POLICY}/laws/timing.rs::another_floor_is_a_floor",
    ],
    choices={
        "used window": "data outstanding; a quarter itself counts as below it, so that one packet of a "
        "window of four qualifies",
        "congestion window": "taken for no less than the initial one: a packet sent alone after a timeout "
        "is no exception",
    },
    points=rules.thin,
)
rule(
    "I-A6",
    "Short-term padding (approach II)",
    "application padded(min_window=4, dummy_bytes=20B)",
    "window reno(initial_window=rfc3390)",
    "option nagle(false)",
    tests=[
        f"{APPLICATIONS}::each_packet_is_padded_by_dummies_written_apart",
        f"{APPLICATIONS}::a_minimum_window_of_one_is_telnet",
        f"{SIM}::loss_of_a_padded_packet_is_detected_by_duplicate_acks",
        "tests/test_reproduce_interactive2007_sustained.py::test_each_approach_offers_what_the_closed_form_has",
    ],
    choices={
        "spacing": "1 ms between a packet, its first dummy and each further one; the paper does not say "
        "how far writes are apart"
    },
    points=rules.padded,
)
rule(
    "I-A7",
    "Diversity (approach III)",
    "framing diversity(copies=2)",
    "stack sack+diversity(2)",
    "ack every",
    tests=[
        f"{ENGINE}/it/diversity.rs::both_copies_arrive_and_nothing_happens",
        f"{ENGINE}/it/diversity.rs::one_lost_copy_reduces_the_window_without_a_timeout",
        f"{ENGINE}/it/diversity.rs::with_all_copies_lost_a_timeout_retransmits_once",
        f"{ENGINE}/it/diversity.rs::three_copies_cause_two_duplicate_acks_of_which_any_may_be_missing",
        f"{ENGINE}/it/diversity.rs::copies_of_several_segments_count_as_no_loss",
        f"{POLICY}/framing/tests.rs::a_segment_is_copied_when_it_is_alone",
    ],
    choices={
        "waiting": "a duplicate ack is waited for as long as a retransmission timeout; the paper does not "
        "say",
        "other segments outstanding": "copied as well where SACK reports what was a duplicate; not stated",
    },
    points=rules.copies,
)
rule(
    "I-A8",
    "TCP Smart Framing",
    "framing smart(segments=4)",
    "stack sack+smart-framing",
    "item I-F11",
    tests=[
        f"{ENGINE}/it/smart_framing.rs::one_packet_becomes_four_with_and_without_nagle",
        f"{ENGINE}/it/smart_framing.rs::only_the_loss_of_the_first_of_four_is_detected_by_duplicate_acks",
        f"{ENGINE}/it/smart_framing.rs::segments_grow_with_the_window_of_a_bulk_flow",
        f"{POLICY}/framing/tests.rs::a_single_packet_becomes_four",
    ],
    choices={
        "window below four segments": "the part of it that is used: a single packet is cut whatever the "
        "window"
    },
    points=rules.framing,
)
