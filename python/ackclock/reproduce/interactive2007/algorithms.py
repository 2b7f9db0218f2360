"""The algorithms and instruments of the paper by what implements them here, and their tests."""

from __future__ import annotations

from ackclock.reproduce.interactive2007 import rules, testbed
from ackclock.reproduce.item import Check, context, exactly, rule

POLICY = "crates/ackclock-policy/src"
APPLICATION = f"{POLICY}/application/tests.rs"
RED = f"{POLICY}/queue/red/tests.rs"
DROP_TAIL = f"{POLICY}/queue/drop_tail.rs"
FAULT = "crates/ackclock-sim/src/fault/tests.rs"
STRATEGIES = "crates/ackclock-sim/tests/scenarios/strategies.rs"
HERE = "tests/test_reproduce_interactive2007.py"


def waits() -> list[Check]:
    """The timeouts that a packet waits for when it is lost again and again."""
    from ackclock import _core
    from ackclock.models.interactive2007 import failed_latency

    second = 10**9
    schedule = [ns / second for ns in _core.backoff_schedule("exponential", [], second, 5)]
    model = [float(failed_latency(i + 1, 0.0)) - float(failed_latency(i, 0.0)) for i in range(5)]
    return [
        exactly("timeouts after 0 to 4 failures, in RTOs", schedule, [1.0, 2.0, 4.0, 8.0, 16.0]),
        exactly("those of equation (2)", model, schedule),
    ]


rule(
    "I-A1",
    "Interactive (telnet) source",
    "application telnet(think=1s, bytes=500B)",
    "estimator rfc6298(min_rto=1s, initial_rto=3s)",
    tests=[
        f"{APPLICATION}::telnet_times_each_packet_from_its_writing_to_its_ack",
        f"{APPLICATION}::telnet_thinks_for_exponential_times",
        f"{POLICY}/estimator/rfc6298.rs::the_floor_is_one_second_and_the_ceiling_sixty",
        "tests/test_responses.py::test_what_is_read_of_a_trace_is_what_the_application_measured",
    ],
    choices={
        "response time": "the application counts from writing to the cumulative ack; a trace from sending, "
        "to that or to the packet's own ack (I-U1)",
        "packets": testbed.CHOICES["packets"],
    },
    points=rules.telnet,
)
rule(
    "I-A2",
    "Fully-backlogged (padding) client",
    "application backlogged(think=1s, bytes=500B, dummy_bytes=500B)",
    tests=[
        f"{APPLICATION}::dummies_never_exceed_the_window_and_packets_come_first",
        f"{APPLICATION}::a_backlogged_source_closes_after_its_last_packet",
        f"{STRATEGIES}::a_backlogged_flow_is_a_bulk_flow",
    ],
    choices={
        "priority": (
            "a packet is kept in the application until it leaves at once: no dummy is queued before it"
        )
    },
    points=rules.backlogged,
)
rule(
    "I-A3",
    "Marked packets in the bulk flow",
    "application backlogged(since=sent)",
    "application bulk",
    "item I-X7",
    tests=[
        f"{APPLICATION}::packets_in_a_bulk_flow_are_poisson",
        f"{APPLICATION}::a_response_time_begins_when_the_packet_is_sent_or_typed",
        "tests/test_responses.py::test_a_mark_falls_on_the_packet_that_is_sent_next",
        f"{HERE}::test_marks_favour_the_packets_after_a_silence",
    ],
    choices={
        "marks": "`Responses.marked` marks a traced flow afterwards; `backlogged` has real packets in the "
        "marks' place. Marks by the clock favour packets that follow a silence: I-F5 and I-F8 "
        "count every packet",
    },
    points=rules.marks,
)
rule(
    "I-A4",
    "Retransmission model",
    "backoff exponential",
    "formula failed-latency",
    "formula backlogged-failed-latency",
    "item I-F2",
    tests=[
        f"{POLICY}/backoff/tests.rs::doubling_stops_at_64_times_or_at_240_seconds",
        f"{HERE}::test_a_lost_retransmission_is_a_timeout_whatever_the_recovery",
    ],
    points=waits,
    choices={
        "whatever the TCP": "Reno, NewReno, SACK and FACK; `fack-rh` finds lost retransmissions by acks, "
        "which is later than the paper's list (M-A8)"
    },
)
rule(
    "I-A10",
    "Queues",
    "queue red(min_th=5packets, max_th=15packets, w_q=0.002, max_p=0.1)",
    "queue red(byte_mode=true, mean_packet=500B)",
    "queue drop-tail(limit=40kB)",
    "queue drop-tail(limit=74packets)",
    "fault loss(p=0.01, of=data)",
    "workload udp",
    "workload web(trace=I, load=0.2)",
    tests=[
        f"{RED}::the_average_follows_the_queue_with_its_weight",
        f"{RED}::the_probability_is_linear_between_the_thresholds_and_gentle_above",
        f"{RED}::byte_mode_scales_the_probability_by_size",
        f"{DROP_TAIL}::a_limit_in_packets_ignores_their_size",
        f"{DROP_TAIL}::a_limit_in_bytes_lets_small_packets_in_where_large_ones_are_dropped",
        f"{FAULT}::random_losses_are_independent",
        f"{HERE}::test_the_testbed_is_that_of_the_register",
        f"{HERE}::test_more_cross_traffic_loses_more",
    ],
    choices={key: testbed.CHOICES[key] for key in ("path", "RED", "cross traffic")},
    points=rules.queues,
)
rule(
    "I-F1",
    "Padding misbehaviour: data goes before dummies, and dummies stay within the window",
    "application backlogged",
    tests=[
        f"{APPLICATION}::dummies_never_exceed_the_window_and_packets_come_first",
        f"{APPLICATION}::a_packet_larger_than_any_window_goes_alone",
    ],
    points=rules.backlogged,
)
rule(
    "I-U1",
    "Response-time logger",
    kind="TOOL",
    tests=[
        "tests/test_responses.py::test_a_packet_waits_from_its_first_copy_to_the_ack_that_covers_it",
        "tests/test_responses.py::test_what_is_read_of_a_trace_is_what_the_application_measured",
        "tests/test_responses.py::test_a_packet_that_arrives_behind_a_lost_one_has_its_own_ack",
        "tests/test_responses.py::test_a_capture_gives_the_same",
        "tests/test_responses.py::test_a_selective_ack_is_a_packets_own",
    ],
    choices={
        "where": "`ackclock.results.responses`: `Responses.of_segments` and `every` read simulated flows, "
        "`of_packets` captured ones",
        "ack": "`time` runs to the first cumulative ack that covers a packet, `own` to its own ack, "
        "cumulative or selective",
        "loss ratio": "where both ends are known, what did not arrive over what was sent; at one end, what "
        "was retransmitted",
    },
    points=rules.logger,
)
rule(
    "I-U2",
    "Gain aggregator",
    kind="TOOL",
    tests=[
        "tests/test_gain.py::test_a_bin_has_the_mean_by_packets",
        "tests/test_gain.py::test_the_gain_is_the_ratio_in_each_bin_that_both_have",
        "tests/test_gain.py::test_samples_of_the_model_give_its_gain",
        "tests/test_gain.py::test_what_makes_no_sense_is_refused",
    ],
    choices={
        "where": "`ackclock.results.gain`: `Experience.of` takes loss ratios and mean response times of "
        "flows, `gain` bins and divides them"
    },
    points=rules.aggregator,
)
context(
    "I-X6",
    "Thresholds that users notice",
    "Users notice delays from 50 to 100 ms on, the paper says: a timeout of a second is far beyond "
    "that, a fast retransmission is not.",
)
