"""The algorithms E-A1 to E-A10 by the policies that implement them, and their tests."""

from __future__ import annotations

from ackclock._core import backoff_schedule
from ackclock.reproduce.eifel2000 import rules
from ackclock.reproduce.item import Check, exactly, rule

POLICY = "crates/ackclock-policy/src"
ESTIMATOR = f"{POLICY}/estimator"
ENGINE = "crates/ackclock-engine/tests"
KIT = "crates/ackclock-testkit/tests"


def ceilings() -> list[Check]:
    """E-A2's 240 s, and B-A2's 64 times."""
    schedules = {
        n: [ns / 1e9 for ns in backoff_schedule("exponential", [("max_doublings", n)], 10**9, 10)]
        for n in ("32", "6")
    }
    return [
        exactly(
            "a timeout of 1 s doubles up to 240 s",
            schedules["32"],
            [*(float(2**k) for k in range(8)), 240.0, 240.0],
        ),
        exactly(
            "or up to 64 times (the default)",
            schedules["6"],
            [*(float(2**k) for k in range(7)), 64.0, 64.0, 64.0],
        ),
    ]


rule(
    "E-A1",
    "Lite-Xmit-Timer",
    "estimator lite(tick=500ms)",
    "timer restart-on-ack(heartbeat=500ms)",
    "stack tahoe+lite(500ms)",
    tests=[
        f"{ESTIMATOR}/jacobson88.rs::the_lite_timer_rises_when_the_rtt_falls",
        f"{ESTIMATOR}/jacobson88.rs::a_tick_counts_samples_and_sets_a_floor",
        f"{ESTIMATOR}/tests.rs::lite_is_jacobsons_timer_on_a_clock",
        f"{POLICY}/timer/restart_on_ack.rs::it_follows_rfc_6298",
        f"{POLICY}/timer/restart_on_ack.rs::a_fast_retransmit_restarts_it_if_configured",
    ],
    points=rules.lite,
)
rule(
    "E-A2",
    "Karn's algorithm",
    "option karn_backoff(true)",
    "backoff exponential(max_doublings=32, max_timeout=240s)",
    tests=[
        f"{KIT}/it/clocks.rs::karn_keeps_the_backed_off_timeout_until_a_valid_sample",
        f"{KIT}/it/options.rs::without_timestamps_a_retransmitted_segment_gives_no_sample",
        f"{KIT}/it/options.rs::timestamps_distinguish_a_retransmission_from_its_original",
        f"{POLICY}/backoff/tests.rs::the_ceiling_is_240_seconds_and_never_below_the_timeout",
        f"{POLICY}/backoff/tests.rs::doubling_stops_at_64_times_or_at_240_seconds",
    ],
    points=ceilings,
    choices={
        "ceiling": "by default doubling stops at 64 times too (B-A2): 240 s matter above 3.75 s; "
        "`max_doublings = 32` leaves them alone",
        "with timestamps": "a retransmission's sample counts, since its echo is unambiguous",
    },
)
rule(
    "E-A3",
    "RTT sampling policies",
    "option rtt_sampling(once-per-rtt)",
    "option rtt_sampling(every-segment)",
    "ack every",
    "ack delayed",
    tests=[
        f"{ENGINE}/it/undo.rs::the_sampling_rate_follows_the_receivers_acks",
        "tests/test_models_eifel2000.py::test_sampling_decides_which_rows_bring_a_sample",
    ],
    choices={
        "rate": "with every segment timed it is derived from the acks of the last round trip: 1, or 1/2 "
        "with delayed acks"
    },
    points=rules.sampling,
)
rule(
    "E-A4",
    "The four faults of the Lite timer",
    "estimator lite",
    "timer restart-on-ack(heartbeat=500ms)",
    "timer precise",
    tests=[
        f"{ESTIMATOR}/jacobson88.rs::the_lite_timer_rises_when_the_rtt_falls",
        f"{ESTIMATOR}/tests.rs::maxima_ends_and_margins_of_a_cycle",
        f"{POLICY}/replay/tests.rs::a_loss_costs_the_age_as_well_where_every_ack_restarts",
        f"{POLICY}/timer/heartbeat.rs::the_next_tick_of_a_heartbeat_counts",
    ],
    points=rules.faults,
)
rule(
    "E-A5",
    "Heartbeat timer",
    "timer restart-on-ack(heartbeat=500ms)",
    "timer precise(heartbeat=500ms)",
    tests=[f"{POLICY}/timer/heartbeat.rs::the_next_tick_of_a_heartbeat_counts"],
    choices={
        "cost": "no pass over all connections: a deadline lies on a tick of the clock, in the one queue of "
        "events"
    },
    points=rules.heartbeat,
)
rule(
    "E-A6",
    "Eifel-Xmit-Timer",
    "estimator eifel",
    "timer precise",
    "stack sack+eifel-timer",
    tests=[
        f"{ESTIMATOR}/eifel.rs::the_equations_give_the_golden_values",
        f"{ESTIMATOR}/eifel.rs::a_jump_is_added_whole",
        f"{ESTIMATOR}/flight.rs::the_lower_bound_is_that_of_the_paper",
        f"{POLICY}/timer/precise.rs::the_age_of_the_oldest_segment_counts",
    ],
    choices={
        "before the first congestion": "FLIGHT is CWND/2 + 1, since there is no SSTHRESH",
        "a window that does not fill": "what is in flight counts in place of CWND",
        "one sample per RTT": "fewer than 1.5 samples per round trip; its gain, 1/3, is the largest of all",
    },
    points=rules.eifel,
)
rule(
    "E-A7",
    "RTO_AGG, the self-training timeout",
    "estimator eifel-agg(k=0.05, initial_agg=1, max_cwnd)",
    "stack sack+eifel-agg+eifel",
    tests=[
        f"{ESTIMATOR}/eifel_agg.rs::{name}"
        for name in (
            "a_cycle_lowers_the_factor_by_k",
            "a_spurious_timeout_halves_the_distance_from_one",
            "the_largest_window_is_learnt",
        )
    ]
    + [f"{ESTIMATOR}/tests.rs::the_factor_rises_with_spurious_timeouts"],
    choices={
        "first AGG": "1",
        "order": "a spurious timeout raises AGG before the sample lowers it",
        "MAXCWND": "learnt from this cycle and the one before",
    },
    points=rules.aggressive,
)
rule(
    "E-A8",
    "Eifel algorithm: the response to spurious timeouts",
    "undo eifel(response=restore, adapt_timer=false)",
    "undo eifel(response=rfc4015, adapt_timer=true)",
    "stack sack+eifel",
    tests=[
        f"{POLICY}/undo/tests.rs::timestamps_decide_for_eifel_at_the_first_ack_of_new_data",
        f"{POLICY}/undo/tests.rs::the_window_is_restored",
        f"{ENGINE}/it/undo.rs::a_delay_spike_costs_one_retransmission_and_no_window",
        f"{ENGINE}/it/undo.rs::without_undo_a_delay_spike_collapses_the_window",
        f"{ENGINE}/it/undo.rs::a_real_loss_is_repaired_as_before",
        f"{ENGINE}/it/undo.rs::rfc_4015_grows_back_without_a_burst",
        f"{KIT}/it/clocks.rs::after_a_spurious_timeout_the_first_new_sample_may_set_the_timer",
        f"{POLICY}/undo/tests.rs::an_ack_of_everything_proves_nothing_to_eifel_unless_duplicates_are_reported",
    ],
    choices={
        "window": "restored, as the paper says; RFC 4015's, which avoids a burst, and its adaptation of "
        "the timer are parameters"
    },
    points=rules.undo,
)
rule(
    "E-A9",
    "FreeBSD's practice: no timeout below the latest sample",
    "estimator lite(sample_floor=true)",
    tests=[f"{ESTIMATOR}/tests.rs::freebsd_keeps_the_timeout_above_the_latest_sample"],
    choices={
        "margin": "two ticks above the sample, as E-E12 combines the two floors",
        "the corrected computation": "real arithmetic instead of the integers whose inaccuracy the paper "
        "mentions without describing it",
    },
    points=rules.sample_floor,
)
rule(
    "E-A10",
    "Spreadsheet model",
    "command model eifel",
    tests=[
        "tests/test_models_eifel2000.py::test_a_cycle_has_the_rows_of_the_definition",
        "tests/test_models_eifel2000.py::test_a_flight_of_n_is_n_rows_of_n_service_times",
        "tests/test_models_eifel2000.py::test_every_column_is_there_for_every_timer",
        f"{ESTIMATOR}/tests.rs::the_first_rows_of_a_cycle",
    ],
    choices={
        "start of a cycle": "half of the largest load and one segment (SSTHRESH + 1); `from_half` starts "
        "at half"
    },
    points=rules.spreadsheet,
)
rule(
    "E-A11",
    "Measurement set-up",
    "item E-F2",
    "formula serial-time",
    tests=["tests/test_verdicts.py::test_the_verdict_on_record_is_the_one_found"],
    choices={"serial cable": "simulated: a link of 10 bits for each byte (E-E17) with a queue of 40 packets"},
    points=rules.serial_line,
)
