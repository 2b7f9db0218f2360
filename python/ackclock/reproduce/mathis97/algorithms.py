"""The algorithms and instruments of the paper by what implements them here, and their tests."""

from __future__ import annotations

import numpy as np

from ackclock.models.mathis97 import fit, power_law_window
from ackclock.reproduce.item import Check, exactly, rule, six_digits
from ackclock.reproduce.mathis97 import rules
from ackclock.reproduce.mathis97.f7_phase_topology import minima

POLICY = "crates/ackclock-policy/src"
ENGINE = "crates/ackclock-engine/tests"
KIT = "crates/ackclock-testkit/tests"
SIM = "crates/ackclock-sim/tests"
DRIVE = "crates/ackclock-drive/tests"
PROBE = "crates/ackclock-drive/src/probe/tests.rs"
WINDOW = f"{POLICY}/window/tests.rs"
RECOVERY = f"{POLICY}/recovery/tests.rs"
FACK_TESTS = f"{POLICY}/recovery/fack_tests.rs"
HALVING = f"{KIT}/it/rate_halving.rs"
RED = f"{POLICY}/queue/red/tests.rs"
PHASE = "tests/test_reproduce_mathis97_phase.py"

rule(
    "M-A1",
    "Congestion avoidance as assumed",
    "window reno(decrease=0.5, increase_segs=1, min_ssthresh_segs=2)",
    tests=[
        f"{WINDOW}::per_ack_increments_are_exact",
        f"{WINDOW}::reductions",
        f"{WINDOW}::a_reduction_may_leave_whole_segments",
        f"{ENGINE}/it/stacks.rs::several_losses_in_a_window_distinguish_the_recoveries",
        f"{SIM}/runs.rs::the_window_draws_its_saw_teeth",
    ],
    choices={
        "half a window": "in bytes; `whole_segs_left` rounds it down to whole segments, which what may be "
        "sent is all the same"
    },
    points=rules.avoidance,
)
rule(
    "M-A2",
    "Delayed acknowledgment",
    "ack delayed(ack_every_segs=2, ack_delay=200ms)",
    "ack delayed(ack_every_segs=4)",
    "stack reno+stretch-acks(4)",
    tests=[
        f"{POLICY}/ack/tests.rs::every_second_full_segment_is_acknowledged_at_once",
        f"{KIT}/it/clocks.rs::every_second_full_segment_is_acknowledged_at_once_and_the_last_one_delayed",
        f"{KIT}/it/clocks.rs::gaps_and_their_filling_are_acknowledged_at_once",
        f"{POLICY}/ack/tests.rs::a_broken_receiver_stretches_its_acks",
    ],
    choices={"broken variants": "`+stretch-acks(n)`: one ack for n segments (RFC 2525 2.13)"},
    points=rules.delayed_acks,
)
rule(
    "M-A3",
    "Tahoe",
    "recovery tahoe(dup_thresh=3)",
    "window reno(keep_ssthresh=false)",
    "window reno(keep_ssthresh=true)",
    "stack tahoe",
    tests=[
        f"{RECOVERY}::the_third_duplicate_retransmits_the_first_segment",
        f"{WINDOW}::reductions",
        f"{ENGINE}/it/stacks.rs::one_loss_is_repaired_by_fast_retransmit",
    ],
    choices={
        "the threshold": "half of the window, as Tahoe has it; `keep_ssthresh` is the paper's wording, by "
        "which it stays"
    },
    points=rules.tahoe,
)
rule(
    "M-A4",
    "Reno",
    "recovery reno(dup_thresh=3)",
    "stack reno",
    tests=[
        f"{RECOVERY}::the_third_duplicate_retransmits_the_first_segment",
        f"{RECOVERY}::a_partial_ack_ends_renos_recovery_and_retransmits_newrenos_next_hole",
        f"{ENGINE}/it/stacks.rs::several_losses_in_a_window_distinguish_the_recoveries",
    ],
    choices={
        "inflation": "what duplicate acks say has arrived comes off the estimate of what is in the "
        "network; the window itself stays halved"
    },
    points=rules.reno,
)
rule(
    "M-A5",
    "NewReno",
    "recovery newreno(dup_thresh=3)",
    "stack newreno",
    tests=[
        f"{RECOVERY}::further_duplicates_clock_out_new_data",
        f"{RECOVERY}::a_partial_ack_ends_renos_recovery_and_retransmits_newrenos_next_hole",
        f"{RECOVERY}::careful_newreno_infers_no_loss_from_its_own_retransmissions",
        f"{ENGINE}/it/stacks.rs::several_losses_in_a_window_distinguish_the_recoveries",
    ],
    points=rules.newreno,
)
rule(
    "M-A6",
    'SACK ("SACK1")',
    "recovery sack(dup_thresh=3)",
    "stack sack",
    tests=[
        f"{RECOVERY}::three_discontiguous_ranges_indicate_a_loss",
        f"{RECOVERY}::more_than_two_segments_sacked_indicate_a_loss",
        f"{RECOVERY}::holes_are_retransmitted_in_order_as_pipe_allows",
        f"{ENGINE}/it/stacks.rs::several_losses_in_a_window_distinguish_the_recoveries",
    ],
    choices={
        "pipe": "counted from the scoreboard (RFC 6675); one less for each duplicate ack and two less for a "
        "partial one approximate it"
    },
    points=rules.sack,
)
FACK = "a definition from common knowledge of FACK: the paper names it and cites its own"
rule(
    "M-A7",
    "FACK",
    "recovery fack(adjustment=halve, each_hole=false, lost_retransmissions=ignore)",
    "stack fack",
    tests=[
        f"{FACK_TESTS}::the_forward_most_sack_begins_recovery",
        f"{FACK_TESTS}::holes_have_left_the_network_before_they_are_retransmitted",
        f"{HALVING}::several_holes_are_repaired_in_one_episode",
    ],
    choices={
        "definition": FACK,
        "in flight": "snd.nxt - snd.fack and what was resent and is not acknowledged",
        "without SACK": "NewReno",
    },
    points=rules.fack,
)
rule(
    "M-A8",
    "FACK-RH: rate-halving",
    "recovery fack(adjustment=rate-halving)",
    "recovery sack(adjustment=rate-halving)",
    "stack fack-rh",
    tests=[
        f"{HALVING}::the_window_after_the_round_trip_is_half_of_what_was_not_lost",
        f"{HALVING}::one_loss_is_repaired_without_losing_the_ack_clock",
        f"{HALVING}::three_packets_are_enough_for_rate_halving_and_four_for_the_others",
        f"{HALVING}::reordering_below_the_threshold_costs_nothing",
        f"{HALVING}::an_echo_and_a_loss_of_one_window_reduce_it_once",
        f"{HALVING}::a_timeout_in_the_round_trip_begins_from_one_segment",
        f"{FACK_TESTS}::a_segment_is_sent_for_every_two_acks_and_new_data_before_the_first_retransmission",
        f"{FACK_TESTS}::lost_acks_do_not_count_as_lost_segments",
        f"{FACK_TESTS}::reordering_that_goes_on_halves_once_per_hole",
        f"{FACK_TESTS}::any_losses_of_a_window_bring_it_to_half_of_the_rest",
        f"{FACK_TESTS}::no_more_is_in_the_network_than_the_window_allows",
    ],
    choices={
        "window during the round trip": "what is in flight and what acks have released; afterwards half of "
        "the segments acknowledged in it (M-E15)",
        "lost acks": "an ack counts for every segment that it is the first to report",
        "nothing lost after all": "the window stays, and what was held back may go once the hole is filled",
        "slow-start threshold": "the window that the round trip ends with",
    },
    points=rules.rate_halving,
)
rule(
    "M-A9",
    "Thresholded retransmission",
    "recovery fack(each_hole=true, dup_thresh=3)",
    "recovery fack(each_hole=false)",
    tests=[
        f"{HALVING}::a_hole_waits_for_three_segments_above_it",
        f"{FACK_TESTS}::holes_have_left_the_network_before_they_are_retransmitted",
        f"{POLICY}/recovery/holes.rs::a_hole_with_three_segments_sacked_above_is_lost",
    ],
    choices={
        "three later segments": "counted as RFC 6675 counts them: three ranges, or more bytes than two "
        "segments have"
    },
    points=rules.thresholded,
)
rule(
    "M-A10",
    "Lost-retransmission detection",
    "recovery fack(lost_retransmissions=reduce)",
    "recovery fack(lost_retransmissions=resend)",
    "recovery sack(lost_retransmissions=reduce)",
    tests=[
        f"{HALVING}::a_lost_retransmission_is_found_without_the_timer",
        f"{FACK_TESTS}::a_lost_retransmission_is_retransmitted_after_three_segments_sent_later",
    ],
    choices={
        "the rule": "lost when three segments sent for the first time after the retransmission are SACKed "
        "and its hole is still there",
        "the window": "reduced again, once per round trip (RFC 5681 4.3), which makes the episode a non-CA "
        "event; `resend` leaves it",
    },
    points=rules.lost_retransmission,
)
rule(
    "M-A11",
    "Bounding parameters",
    "recovery fack(adjustment=rate-halving, bounds=true)",
    "fault duplicate(p=1, of=acks)",
    tests=[
        f"{HALVING}::a_receiver_that_repeats_every_ack_leaves_no_more_than_half",
        f"{FACK_TESTS}::superfluous_acks_leave_no_more_than_half",
        f"{FACK_TESTS}::rate_halving_ends_at_half_of_what_arrived",
    ],
    choices={"bounds": "2 segments, and half of the window at the first SACK; 2 segments where that is more"},
    points=rules.bounds,
)
rule(
    "M-A12",
    "Drop-tail, RED and random-loss links",
    "queue drop-tail(limit=50packets)",
    "queue red",
    "fault loss(p)",
    tests=[
        f"{POLICY}/queue/drop_tail.rs::a_limit_in_packets_ignores_their_size",
        f"{RED}::the_average_follows_the_queue_with_its_weight",
        f"{RED}::the_probability_is_linear_between_the_thresholds_and_gentle_above",
        f"{RED}::gaps_between_drops_are_uniform_with_the_mean_that_the_probability_gives",
        f"{SIM}/link.rs::a_pure_delay_never_queues",
        f"{SIM}/scenarios/results.rs::a_lossy_link_loses_its_share",
    ],
    choices={
        "RED": "ns-2's parameters: thresholds of 5 and 15 packets, weight 0.002, probability 0.1, gentle"
    },
    points=rules.links,
)
rule(
    "M-A13",
    "Floyd-Jacobson phase topology with instruments",
    "item M-F7",
    "item M-T2",
    "command run",
    tests=[
        f"{PHASE}::test_round_trip_times_are_those_that_the_tables_imply",
        f"{PHASE}::test_the_models_of_the_printed_inputs_are_the_registers",
        f"{PHASE}::test_link_and_connections_count_the_same_losses",
    ],
    choices={"as a file": "scenarios/phase-effects.toml"},
    points=minima,
)
rule(
    "M-A14",
    "Vegas",
    "window vegas(alpha_segs=1, beta_segs=3, gamma_segs=1)",
    "item M-X18",
    tests=[
        f"{POLICY}/window/vegas.rs::two_to_four_segments_stay_in_the_queue",
        f"{POLICY}/window/vegas.rs::slow_start_ends_with_more_than_a_segment_in_the_queue",
        f"{POLICY}/window/vegas.rs::a_loss_halves_it_and_the_next_flight_is_not_judged",
    ],
    points=rules.vegas_window,
    choices={"constants": "ns's published defaults; the policy's own are Linux's, 2 and 4"},
)
rule(
    "M-U1",
    "In-TCP (MIB-like) instruments",
    "command run",
    "stack sack+timestamps",
    tests=[
        f"{ENGINE}/it/signals.rs::one_loss_is_one_clock_preserving_halving",
        f"{ENGINE}/it/signals.rs::a_timeout_is_one_non_ca_event_even_if_it_repeats",
        f"{ENGINE}/it/signals.rs::a_recovery_that_ends_in_a_timeout_counts_only_as_a_timeout",
        f"{ENGINE}/it/signals.rs::a_window_of_losses_with_a_lost_retransmission_is_one_episode",
        f"{ENGINE}/it/signals.rs::several_losses_in_a_window_are_one_signal_unless_it_is_reduced_again",
        f"{ENGINE}/it/signals.rs::lost_syns_are_no_signals",
        f"{ENGINE}/it/signals.rs::an_ecn_echo_reduces_the_window_once_and_is_no_loss",
        f"{ENGINE}/it/signals.rs::an_undone_timeout_is_marked_as_spurious",
        f"{ENGINE}/it/signals.rs::a_recovery_continues_when_a_timeout_in_it_is_undone",
        f"{ENGINE}/it/signals.rs::timestamps_give_round_trip_samples_during_a_recovery",
        f"{KIT}/it/instruments.rs::tables_made_of_events_add_up_to_the_counters",
        f"{SIM}/scenarios/measured.rs::counters_leave_out_what_came_before_and_nothing_else",
        f"{SIM}/scenarios/measured.rs::a_flow_counts_after_its_first_loss_episode",
    ],
    kind="TOOL",
    choices={
        "episode": "from the first cut of the window until all that was outstanding then, or at a timeout "
        "in it, is acknowledged",
        "class": "CA where the window was cut once and not by the timer; what cuts it again makes the "
        "episode a non-CA event, and it counts once",
        "a timeout taken back": "a non-CA event whose episode is marked spurious; inside a recovery it "
        "changes nothing",
        "ECN": "an echo is no loss episode; `ecn_reductions` counts it",
        "without the beginning": "`measure_from`, a moment, or `measure_after`, a number of loss episodes",
        "all cuts": "`window_cuts` counts every downward adjustment, several in one episode too",
    },
    points=rules.instruments,
)
rule(
    "M-U2",
    "Link instruments",
    "command run",
    tests=[
        f"{SIM}/link.rs::packets_leave_one_behind_the_other_and_travel_the_delay",
        f"{SIM}/link.rs::counters_in_the_middle_count_only_what_has_happened",
        f"{SIM}/scenarios/measured.rs::the_mean_queue_is_an_average_over_time",
    ],
    kind="TOOL",
    choices={
        "queue": "packets that wait, the one in service not counted; `queue_mean_delay` of the table "
        "`links` is their bytes over the rate"
    },
    points=rules.of_links,
)
rule(
    "M-U3",
    "TReno",
    "command probe",
    tests=[
        f"{PROBE}::loss_and_delay_are_measured",
        f"{PROBE}::periodic_losses_are_one_signal_each",
        f"{PROBE}::the_window_is_kept_and_each_reply_counts_once",
        f"{PROBE}::limits_on_replies_are_detected",
        f"{PROBE}::random_loss_is_not_a_limit_on_replies",
        f"{DRIVE}/probe.rs::icmp_echo_with_and_without_rights_over_both_families",
        f"{DRIVE}/probe.rs::the_host_and_a_router_reply_to_udp_probes",
        f"{DRIVE}/probe.rs::a_rate_limit_of_a_router_is_detected",
        "tests/test_probe.py::test_a_probe_over_the_loopback_device_reports",
    ],
    kind="TOOL",
    choices={
        "sender and receiver": "two connections of the engine at the near end; a segment with sequence "
        "space is a probe, acknowledgments stay there",
        "handshake": "the SYN is a probe like the others, so that the first round-trip time is one of the "
        "path",
        "delayed acks": "those of the stack's receiver",
        "throttled replies": "recognised by evenly spaced replies to the background probe, or by losses "
        "without a queue that vanish at half the rate",
    },
    points=rules.treno,
)
rule(
    "M-U5",
    "Background path probe",
    "command probe",
    tests=[
        "crates/ackclock-drive/src/probe/background.rs::probes_are_evenly_spaced_and_their_means_have_a_median",
        f"{PROBE}::a_test_over_a_long_buffer_changes_the_path",
        f"{DRIVE}/probe.rs::a_bottleneck_bounds_the_capacity_and_its_queue_shows",
        "tests/test_probe.py::test_the_background_probe_distinguishes_idle_from_busy",
    ],
    kind="TOOL",
    choices={
        "probes": "56 bytes, one every 50 ms; 200 before the test and 200 after it, and all the while it "
        "runs",
        "median of means": "of the means of 20 samples each, since a run has one transfer and the paper "
        "had many",
    },
    points=rules.background,
)


def fitted() -> list[Check]:
    """The fitter on points whose line is known: table 4's for Reno with delayed acks, a few runs with
    timeouts far below it.
    """
    p = np.geomspace(1e-4, 1e-1, 13)
    timeouts = np.where(p > 1e-2, 3, 0)
    window = np.where(timeouts, 0.2, 1.0) * power_law_window(p, 0.752, -0.524)
    free, held = fit(p, window, timeouts=timeouts), fit(p, power_law_window(p, 0.939, -0.5), k=-0.5)
    return [
        exactly("N, runs left out", [free.n, free.excluded], [9, 4]),
        six_digits("C of equation (5)", free.c, 0.752),
        six_digits("k of equation (5)", free.k, -0.524),
        six_digits("C of equation (3)", held.c, 0.939),
    ]


rule(
    "M-U6",
    "Slope fitter",
    tests=[
        "tests/test_fit.py::test_points_on_a_line_give_that_line",
        "tests/test_fit.py::test_the_constant_alone_is_a_geometric_mean",
        "tests/test_fit.py::test_errors_are_those_of_linear_regression",
        "tests/test_fit.py::test_runs_with_timeouts_are_left_out",
    ],
    points=fitted,
    kind="TOOL",
    choices={
        "routine": "SciPy's `curve_fit` on the logarithms; `ackclock.models.mathis97.fit`",
        "errors": "standard errors; of C, that of its logarithm times C",
    },
)
