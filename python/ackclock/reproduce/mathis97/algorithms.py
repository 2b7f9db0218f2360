"""The algorithms and instruments of the paper as what they are here, and the tests that pin them."""

from __future__ import annotations

from ackclock.reproduce.item import rule

POLICY = "crates/ackclock-policy/src"
ENGINE = "crates/ackclock-engine/tests"
KIT = "crates/ackclock-testkit/tests"
SIM = "crates/ackclock-sim/tests"
WINDOW = f"{POLICY}/window/tests.rs"
RECOVERY = f"{POLICY}/recovery/tests.rs"
RED = f"{POLICY}/queue/red/tests.rs"

rule(
    "M-A1",
    "Congestion avoidance as assumed",
    "window reno(decrease=0.5, increase_segs=1, min_ssthresh_segs=2)",
    tests=[
        f"{WINDOW}::per_ack_increments_are_exact",
        f"{WINDOW}::reductions",
        f"{ENGINE}/stacks.rs::several_losses_in_a_window_tell_the_recoveries_apart",
        f"{SIM}/runs.rs::the_window_draws_its_saw_teeth",
    ],
    choices={"half a window": "in bytes, not rounded down to whole segments; what may be sent is whole segments all the same"},
)
rule(
    "M-A2",
    "Delayed acknowledgment",
    "ack delayed(ack_every_segs=2, ack_delay=200ms)",
    tests=[
        f"{POLICY}/ack/tests.rs::every_second_full_segment_is_acknowledged_at_once",
        f"{KIT}/clocks.rs::every_second_full_segment_is_acknowledged_at_once_and_the_last_one_after_a_while",
        f"{KIT}/clocks.rs::gaps_and_their_filling_are_acknowledged_at_once",
    ],
)
rule(
    "M-A3",
    "Tahoe",
    "recovery tahoe(dup_thresh=3)",
    "window reno(keep_ssthresh=false)",
    "window reno(keep_ssthresh=true)",
    "stack tahoe",
    tests=[
        f"{RECOVERY}::the_third_duplicate_resends_the_first_segment",
        f"{WINDOW}::reductions",
        f"{ENGINE}/stacks.rs::one_loss_is_repaired_by_fast_retransmit",
    ],
    choices={"the threshold": "half of the window, as Tahoe has it; `keep_ssthresh` is the paper's wording, by which it stays"},
)
rule(
    "M-A4",
    "Reno",
    "recovery reno(dup_thresh=3)",
    "stack reno",
    tests=[
        f"{RECOVERY}::the_third_duplicate_resends_the_first_segment",
        f"{RECOVERY}::a_partial_ack_ends_renos_recovery_and_names_newrenos_next_hole",
        f"{ENGINE}/stacks.rs::several_losses_in_a_window_tell_the_recoveries_apart",
    ],
    choices={"inflation": "what duplicate acks say has arrived comes off the estimate of what is in the network; the window itself stays halved"},
)
rule(
    "M-A5",
    "NewReno",
    "recovery newreno(dup_thresh=3)",
    "stack newreno",
    tests=[
        f"{RECOVERY}::further_duplicates_clock_out_new_data",
        f"{RECOVERY}::a_partial_ack_ends_renos_recovery_and_names_newrenos_next_hole",
        f"{RECOVERY}::careful_newreno_does_not_take_its_own_resent_data_for_a_loss",
        f"{ENGINE}/stacks.rs::several_losses_in_a_window_tell_the_recoveries_apart",
    ],
)
rule(
    "M-A6",
    'SACK ("SACK1")',
    "recovery sack(dup_thresh=3)",
    "stack sack",
    tests=[
        f"{RECOVERY}::three_discontiguous_ranges_mean_a_loss",
        f"{RECOVERY}::more_than_two_segments_sacked_mean_a_loss",
        f"{RECOVERY}::holes_are_resent_in_order_as_pipe_allows",
        f"{ENGINE}/stacks.rs::several_losses_in_a_window_tell_the_recoveries_apart",
    ],
    choices={
        "pipe": "counted from the scoreboard (RFC 6675), which gives what one less for each duplicate ack and two less for a partial one stand for"
    },
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
    choices={"RED": "ns-2's parameters: thresholds of 5 and 15 packets, weight 0.002, probability 0.1, gentle"},
)
rule(
    "M-U2",
    "Link instruments",
    "command run",
    tests=[
        f"{SIM}/link.rs::packets_leave_one_behind_the_other_and_travel_the_delay",
        f"{SIM}/link.rs::counters_in_the_middle_count_only_what_has_happened",
    ],
    kind="TOOL",
    choices={"queue": "packets that wait, the one in service not counted; `queue_mean_delay` of the table `links` is their bytes over the rate"},
)
