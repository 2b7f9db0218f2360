"""The algorithms J-A1 to J-A17 by the policies that implement them, and their tests."""

from __future__ import annotations

import numpy as np

from ackclock._core import backoff_schedule, rate_intervals
from ackclock.models import Timer
from ackclock.reproduce.item import Check, at_least, exactly, rule, six_digits
from ackclock.reproduce.jacobson88 import rules
from ackclock.reproduce.jacobson88.golden import GOLDEN_FALL, GOLDEN_REAL, GOLDEN_RISE, real, ticks, words

POLICY = "crates/ackclock-policy/src"
ENGINE = "crates/ackclock-engine"
KIT = "crates/ackclock-testkit/tests"
SIM = "crates/ackclock-sim"
WINDOW = f"{POLICY}/window/tests.rs"
TICKS = f"{POLICY}/estimator/jacobson88_ticks.rs"

FINE = (("min_rto", "0s"), ("max_rto", "1h"))


def rfc793() -> list[Check]:
    """J-E3 by the estimator."""
    rows = Timer("rfc793", FINE).rows({"time": np.array([1.0, 3.0]), "rtt": np.array([1.0, 2.0])})
    return [
        six_digits("R and rto after samples of 1 and 2 (J-E3)", [rows["srtt"][1], rows["rto"][1]], [1.1, 2.2])
    ]


def in_real_arithmetic() -> list[Check]:
    """J-E7."""
    return [
        six_digits(
            "a, v, rto from a = 2, v = 0, samples of 10 (J-E7)",
            np.ravel(real(2, 0, [10.0] * 6)),
            np.ravel(GOLDEN_REAL),
        )
    ]


def one_gain() -> list[Check]:
    """J-E6 and J-E7."""
    return [
        exactly(
            "8a = 16, 8v = 8, a sample of 6 ticks (J-E6)",
            [row[:2] for row in ticks(16, 8, [6], 3)],
            [(20, 11)],
        ),
        exactly(
            "fixed point of 5 ticks from above (J-E7)",
            words([ticks(200, 80, [5] * 1000, 3)[-1]]),
            ["(47 7 12)"],
        ),
    ]


def integers() -> list[Check]:
    """J-E7."""
    return [
        exactly(
            "from sa = 16, sv = 0, samples of 10 (J-E7)", words(ticks(16, 0, [10] * 12)), words(GOLDEN_RISE)
        ),
        exactly(
            "from sa = 80, sv = 0, samples of 2 (J-E7)", words(ticks(80, 0, [2] * 16)), words(GOLDEN_FALL)
        ),
    ]


def doubling() -> list[Check]:
    """Each further retransmission doubles, up to 64 times."""
    seconds = [ns / 1e9 for ns in backoff_schedule("exponential", [], 10**9, 9)]
    return [exactly("timeouts of 1 s", seconds, [1.0, 2.0, 4.0, 8.0, 16.0, 32.0, 64.0, 64.0, 64.0])]


def rates() -> list[Check]:
    """J-E15 by the rate controls."""
    grown = [ns / 1e9 for ns in rate_intervals("additive", [("alpha", "10s"), ("interval", "1s")], 5)]
    wrong = [
        1e9 / ns for ns in rate_intervals("constant-decrement", [("step", "100ms"), ("interval", "1s")], 10)
    ]
    return [
        six_digits(
            "I after 1 to 5 packets, alpha = 10 s (J-E15)",
            grown,
            [0.909091, 0.833333, 0.769231, 0.714286, 0.666667],
        ),
        six_digits(
            "rate of the wrong policy after 1 to 9 packets",
            wrong[:9],
            [1.11111, 1.25, 1.42857, 1.66667, 2, 2.5, 3.33333, 5, 10],
        ),
        at_least("and after the tenth, at the shortest interval of 1 us", wrong[9], 999_999, "its inverse"),
    ]


rule(
    "J-A2",
    "Slow-start",
    "window reno(initial_window=segments, initial_segs=1, loss_window_segs=1)",
    tests=[
        f"{WINDOW}::slow_start_adds_a_segment_per_ack",
        f"{WINDOW}::initial_windows",
        f"{POLICY}/laws/window.rs::slow_start_grows_no_faster_than_what_is_acknowledged",
    ],
    points=rules.slow_start,
)
rule(
    "J-A3",
    "RFC 793 retransmit timer",
    "estimator rfc793(alpha=0.9, beta=2)",
    tests=[
        f"{POLICY}/estimator/rfc793.rs::the_filter_of_rfc_793",
        f"{POLICY}/estimator/rfc793.rs::it_falls_behind_a_loaded_path",
    ],
    points=rfc793,
    choices={
        "start and bounds": "the first sample sets R; at least 1 s and at most 60 s (RFC 793 p. 41 has "
        "these as examples), 3 s before a sample"
    },
)
rule(
    "J-A4",
    "Mean and mean deviation in real arithmetic",
    "estimator jacobson88(g=0.125, h=0.25, weight=4)",
    tests=[f"{POLICY}/estimator/jacobson88.rs::golden_rows_in_real_arithmetic"],
    points=in_real_arithmetic,
    choices={"start": "the first sample sets the mean, and the deviation to half of it"},
)
rule(
    "J-A5",
    "Integer estimator with one gain",
    "estimator jacobson88-ticks(form=one-gain)",
    tests=[f"{TICKS}::the_scaled_form_of_the_paper", f"{TICKS}::fixed_points_of_a_constant_sample"],
    points=one_gain,
)
rule(
    "J-A6",
    "Integer estimator, final timer",
    "estimator jacobson88-ticks(form=final)",
    "stack tahoe+ticks(500ms)",
    tests=[
        f"{TICKS}::{name}"
        for name in (
            "golden_rows_when_the_rtt_rises",
            "golden_rows_when_the_rtt_falls",
            "fixed_points_of_a_constant_sample",
        )
    ],
    points=integers,
    choices={
        "start": "4.3BSD's: the first sample sets sa = 8m and sv = 2m",
        "floor": "two ticks, as in E-A1",
    },
)
rule(
    "J-A7",
    "Exponential retransmit backoff",
    "backoff exponential(max_doublings=6, max_timeout=240s)",
    tests=[
        f"{POLICY}/backoff/tests.rs::multipliers_of_tcp_star",
        f"{POLICY}/backoff/tests.rs::doubling_stops_at_64_times_or_at_240_seconds",
        f"{KIT}/it/clocks.rs::data_is_retransmitted_with_doubled_timeouts_until_the_connection_is_aborted",
    ],
    points=doubling,
    choices={
        "cap": "64 times the timeout (B-A2) and 240 s (E-A2)",
        "reset": "with the next valid sample (J-A8)",
    },
)
rule(
    "J-A8",
    "Karn's clamped retransmit backoff",
    "option karn_backoff(true)",
    tests=[
        f"{KIT}/it/clocks.rs::karn_keeps_the_backed_off_timeout_until_a_valid_sample",
        f"{KIT}/it/options.rs::without_timestamps_a_retransmitted_segment_gives_no_sample",
    ],
    choices={"definition": "E-A2's, since this paper only names it"},
    points=rules.karn,
)
rule(
    "J-A9",
    "Congestion avoidance alone",
    "window reno(phases=avoidance, decrease=0.5, increase_segs=1)",
    tests=[
        f"{WINDOW}::avoidance_alone_halves_and_adds_a_segment_per_round_trip",
        f"{WINDOW}::a_round_trip_adds_at_most_a_segment",
    ],
    choices={"floor": "one segment, since nothing could be sent with less"},
    points=rules.avoidance_alone,
)
rule(
    "J-A10",
    "Slow-start and congestion avoidance combined",
    "window reno(min_ssthresh_segs=2, initial_ssthresh=0B)",
    "stack tahoe",
    tests=[
        f"{WINDOW}::reductions",
        f"{WINDOW}::slow_start_adds_a_segment_per_ack",
        f"{WINDOW}::per_ack_increments_are_exact",
    ],
    choices={"floor of ssthresh": "2 segments (mathis97 calls that common)", "first ssthresh": "none"},
    points=rules.combined,
)
rule(
    "J-A11",
    "Byte and integer forms of the increment",
    "window reno(whole_segs=false)",
    "window reno(whole_segs=true)",
    tests=[
        f"{WINDOW}::whole_segments_never_grow",
        f"{WINDOW}::increments_below_a_byte_add_up",
        f"{WINDOW}::a_round_trip_adds_at_most_a_segment",
        f"{KIT}/it/windows.rs::a_sender_does_not_send_silly_segments",
    ],
    choices={"resolution": "bytes, and a carried remainder of 2^-32 of one"},
    points=rules.increments,
)
rule(
    "J-A12",
    "Idle restart",
    "option idle_restart(true)",
    "option idle_after(rto)",
    "option idle_after(rtt)",
    "option idle_since(send)",
    "option idle_since(receive)",
    tests=[
        f"{KIT}/it/clocks.rs::after_an_idle_timeout_the_window_starts_again_from_the_restart_window",
        f"{KIT}/it/clocks.rs::idling_is_measured_by_either_threshold_from_either_moment",
    ],
    choices={
        "threshold": "the timeout in force, since the last segment sent; the other readings of footnote 23 "
        "are options",
        "restart window": "the initial window (RFC 5681 4.1), one packet in a stack that begins with one",
    },
    points=rules.idle,
)
rule(
    "J-A13",
    "Receiver ack policies",
    "ack bsd43",
    "ack delayed",
    "ack every",
    tests=[
        f"{POLICY}/ack/tests.rs::{name}"
        for name in (
            "the_old_receiver_waits_for_a_third_of_the_window_or_the_clock",
            "the_old_receiver_acknowledges_every_five_packets_at_the_papers_rate",
            "every_second_full_segment_is_acknowledged_at_once",
        )
    ]
    + [f"{KIT}/it/options.rs::an_old_receiver_delays_acks_of_out_of_order_segments"],
    choices={"200 ms timer": "4.3BSD's is free-running (the fast timer)"},
    points=rules.receivers,
)
rule(
    "J-A14",
    "Fast retransmit",
    "recovery tahoe(dup_thresh=3)",
    tests=[
        f"{KIT}/it/clocks.rs::fast_retransmit_comes_with_the_third_duplicate",
        f"{ENGINE}/tests/it/stacks.rs::one_loss_is_repaired_by_fast_retransmit",
    ],
    choices={"definition": "the third duplicate ack, as the other papers have it; this one only names it"},
    points=rules.fast_retransmit,
)
rule(
    "J-A15",
    "Rate-based congestion avoidance",
    "rate additive(alpha=10s, interval=1s, decrease=2)",
    "rate constant-decrement(step=100ms)",
    "workload udp-rate",
    tests=[
        f"{POLICY}/rate/tests.rs::the_rate_grows_by_a_constant",
        f"{POLICY}/rate/tests.rs::a_constant_decrement_runs_away",
        f"{SIM}/tests/runs.rs::a_gap_in_the_numbers_of_datagrams_is_reported_to_their_source",
        f"{SIM}/src/workload/source.rs::the_rate_is_reduced_once_for_all_datagrams_in_flight",
    ],
    points=rates,
    choices={
        "who reports a loss to the source": "the receiver, by 40 bytes over the way back, at once for each "
        "gap in the numbers of the datagrams",
        "what a report means": "congestion, once for all the datagrams that were under way when the rate "
        "fell last",
        "what an interval under way does": "it runs to its end; the doubling counts from the next one",
    },
)
rule(
    "J-A16",
    "Old TCP, before the seven algorithms",
    "stack rfc793",
    "window receiver-only",
    "recovery timeout-only",
    "option karn_samples(false)",
    tests=[
        f"{WINDOW}::before_1988_nothing_was_reduced",
        f"{ENGINE}/tests/it/stacks.rs::every_stack_delivers_every_byte",
        f"{KIT}/it/options.rs::without_karns_rule_a_timing_goes_on_through_retransmissions",
    ],
    choices={
        "backoff of the old stack": "doubles up to 64 times, and the next new ack ends it",
        "timing": "one segment at a time, and through its retransmissions",
    },
    points=rules.old,
)
rule(
    "J-A17",
    "AIMD with parameters, and its multiplicative counterpart",
    "window reno(decrease, increase_segs, increase_factor=1)",
    "window reno(decrease=0.875, increase_segs=0, increase_factor=1.142857)",
    tests=[f"{WINDOW}::reductions", f"{WINDOW}::multiplicative_increase_and_decrease"],
    choices={
        "multiplicative increase": "each round trip's acks together add (b - 1) times the window that they "
        "acknowledge"
    },
    points=rules.aimd,
)
