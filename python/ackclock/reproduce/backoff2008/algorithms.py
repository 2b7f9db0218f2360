"""The algorithms and instruments of the paper by what implements them here, and their tests."""

from __future__ import annotations

from ackclock import _core
from ackclock.reproduce.backoff2008 import rules, testbed
from ackclock.reproduce.item import Check, context, exactly, rule, six_digits

POLICY = "crates/ackclock-policy/src"
KIT = "crates/ackclock-testkit/tests"
SIM = "crates/ackclock-sim"
BACKOFF = f"{POLICY}/backoff/tests.rs"
SIZES = f"{SIM}/src/workload/sizes.rs"
ARRIVALS = f"{SIM}/src/workload/arrivals.rs"
RESULTS = f"{SIM}/tests/scenarios/results.rs"
SECOND = 10**9


def multipliers() -> list[Check]:
    """TCP*(n) for every n."""
    rows = {
        n: [ns // SECOND for ns in _core.backoff_schedule("sub-exponential", [("n", n)], SECOND, 9)]
        for n in "0123456"
    }
    expected = {n: [2 ** min(max(0, j - int(n)), 6 - int(n)) for j in range(9)] for n in rows}
    sums = [sum(row[:7]) for row in rows.values()]
    return [
        exactly(
            "multipliers of TCP*(0) to TCP*(6), nine timeouts", list(rows.values()), list(expected.values())
        ),
        exactly("time of 7 timeouts, in RTOs", sums, [127, 64, 33, 18, 11, 8, 7]),
    ]


def ethernet() -> list[Check]:
    """Mean waits of the comparator on a shared medium."""
    from ackclock.models.jacobson88.shared_medium import Bench

    waits = Bench(1, "exponential", timeout=4).waits()
    return [
        exactly(
            "E(T) after the 1st to 7th failure, slots",
            [int(w) // 2 for w in waits[1:8]],
            [2**k for k in range(1, 8)],
        )
    ]


def traces() -> list[Check]:
    """Mean sizes, as the simulator has them."""
    means = {trace: _mean_size(trace) for trace in ("I", "II", "III")}
    return [six_digits("mean size (B) of Traces I, II, III", list(means.values()), [3351.19, 7000, 88260.6])]


def _mean_size(trace: str) -> float:
    scenario = testbed.scenario(testbed.dumbbell(10), testbed.web(trace, 10), testbed.stacks("1s"), 1)
    (arrivals,) = scenario.expected_arrivals()
    return arrivals.mean_size


def testbed_queues() -> list[Check]:
    """Two bandwidth-delay products."""
    limits = []
    for mbit in (10, 50):
        scenario = testbed.scenario(testbed.dumbbell(mbit), testbed.web("I", mbit), testbed.stacks("1s"), 1)
        limit = scenario.resolve_tree()["path"]["bottleneck"]["queue"]["limit"]
        limits.append(round(_core.quantity("size", limit)))
    return [exactly("queues (B) at 10 and 50 Mbit/s", limits, [262_500, 1_312_500])]


rule(
    "B-A1",
    "RTO computation",
    "estimator rfc6298(min_rto=1s, initial_rto=3s)",
    "estimator rfc6298(min_rto=200ms, initial_rto=3s)",
    "option karn_samples(true)",
    tests=[
        f"{POLICY}/estimator/rfc6298.rs::first_and_later_samples",
        f"{POLICY}/estimator/rfc6298.rs::the_floor_is_one_second_and_the_ceiling_sixty",
        f"{KIT}/it/options.rs::without_timestamps_a_retransmitted_segment_gives_no_sample",
    ],
    points=rules.timeout,
)
rule(
    "B-A2",
    "TCP*(n), sub-exponential backoff",
    "backoff exponential(max_doublings=6)",
    "backoff sub-exponential(n=3)",
    "backoff none",
    "option karn_backoff(false)",
    "stack sack+star(3)",
    "stack sack+no-backoff",
    tests=[
        f"{BACKOFF}::multipliers_of_tcp_star",
        f"{BACKOFF}::after_seven_timeouts_the_value_stays",
        f"{KIT}/it/clocks.rs::karn_keeps_the_backed_off_timeout_until_a_valid_sample",
        f"{KIT}/it/opening.rs::without_backoff_a_syn_is_retransmitted_at_even_intervals",
    ],
    points=multipliers,
    choices={
        "reset of the counter": "`karn_backoff = false`, which the items here have: on a new "
        "acknowledgment; `true`: on the next unambiguous sample",
        "SYNs": "follow the same multipliers, with the initial timeout",
    },
)
rule(
    "B-A3",
    "FreeBSD's SYN schedule",
    "backoff freebsd-syn",
    "stack sack+freebsd-syn",
    tests=[f"{BACKOFF}::freebsd_does_not_back_off_the_first_five_syns"],
    points=rules.freebsd,
)
rule(
    "B-A4",
    "Implicit packet conservation",
    "command run",
    tests=[
        f"{KIT}/it/instruments.rs::every_spurious_retransmission_is_counted_by_the_receiver",
        f"{SIM}/src/tests/truth.rs::a_copy_is_not_spurious_when_a_part_of_it_was_dropped",
        f"{SIM}/src/tests/truth.rs::acknowledged_ranges_are_forgotten",
    ],
    choices={
        "violations": "`unneeded_retransmissions` of the table `flows`: the simulator knows which copies "
        "its links have dropped",
        "RTO below RTT": "`spurious_timeouts`: expiries whose original had arrived, or was still to arrive",
    },
    points=rules.conservation,
)
rule(
    "B-A5",
    "Ethernet's truncated binary backoff",
    "item J-X9",
    "backoff exponential",
    tests=[
        "tests/test_reproduce_jacobson88_simulations.py::test_one_source_never_fails_and_two_with_a_slot_to_choose_collide_for_ever"
    ],
    points=ethernet,
    choices={"waits": "uniform over twice the slots that E(T) has, each waited to its end"},
)
rule(
    "B-A6",
    "SYN drops as admission control",
    "option syn_retries(2)",
    "option syn_retries(4)",
    "formula syn-rejection",
    tests=[
        f"{KIT}/it/opening.rs::a_syn_is_retransmitted_with_doubled_intervals_up_to_its_limit",
        "crates/ackclock-engine/tests/it/transfer.rs::an_unanswered_syn_is_given_up_after_its_retries",
    ],
    choices={"N": "SYNs sent in all: 3 are two retries, 5 are four"},
    points=rules.admission,
)
rule(
    "B-A7",
    "Traces I, II and III",
    "workload web(trace=I, load=1.2)",
    "workload web(trace=II, load=1.2)",
    "workload web(trace=III, load=1.2)",
    "sizes bounded-pareto(shape=1.2, mean=7000B, max=2000000000B)",
    tests=[
        f"{SIM}/src/workload/pareto.rs::a_mean_of_7000_begins_at_the_bytes_of_the_register",
        f"{SIZES}::the_traces_have_the_means_of_the_register",
        f"{SIZES}::the_traces_have_the_probabilities_of_the_register",
        f"{SIZES}::long_flows_leave_the_others_as_they_are",
    ],
    points=traces,
    choices={"sizes": testbed.CHOICES["flow sizes"], "arrivals": testbed.CHOICES["arrivals"]},
)
rule(
    "B-A8",
    "Testbed",
    "stack sack",
    "queue red",
    "queue drop-tail",
    tests=["tests/test_reproduce_backoff2008.py::test_the_testbed_is_that_of_the_register"],
    points=testbed_queues,
    choices=testbed.CHOICES,
)
rule(
    "B-A9",
    "ON/OFF arrivals",
    "arrivals on-off(on=50ms, off=50ms, periods=constant)",
    tests=[
        f"{ARRIVALS}::on_off_arrivals_double_their_rate_in_half_of_the_time",
        f"{ARRIVALS}::random_periods_keep_the_average",
    ],
    choices={"periods": "constant; `exponential` and `pareto` are others"},
    points=rules.bursts,
)
rule(
    "B-A10",
    "Flash crowds by TCP and by UDP",
    "arrivals on-off(on=16s, off=8s, periods=pareto, shape=1.5)",
    "workload udp-on-off(on=16s, off=8s, periods=pareto, shape=1.5)",
    tests=[
        f"{ARRIVALS}::pareto_periods_have_their_mean",
        f"{SIM}/src/workload/source.rs::bursts_take_their_share_of_the_time",
        f"{RESULTS}::datagrams_push_tcp_aside",
        f"{RESULTS}::another_workload_changes_no_draw",
    ],
    choices={"shape": "1.5", "rate and packet size of UDP": "whatever gives the loss: with B-F6a"},
    points=rules.crowd,
)
rule(
    "B-A11",
    "Peer-to-peer load",
    "application bulk",
    tests=[f"{RESULTS}::peers_fetch_from_one_another"],
    choices={
        "five random peers": "`per_server = 5` of a workload `bulk`: five flows to each node, from "
        "different other ones, drawn at random"
    },
    points=rules.peers,
)
rule(
    "B-U1",
    "Timeouts and backoff inferred by the client",
    kind="TOOL",
    tests=[
        "tests/test_gaps.py::test_a_gap_must_exceed_200_ms_and_1_2_round_trips",
        "tests/test_gaps.py::test_a_further_gap_of_about_twice_the_length_is_backoff",
        "tests/test_gaps.py::test_what_makes_no_sense_is_refused",
        "tests/test_gaps.py::test_a_simulated_client_sees_the_servers_timeout_and_its_length",
    ],
    choices={
        "where": "`ackclock.results.gaps`: `infer` wants times of arrival and the handshake's round-trip "
        "time, and knows nothing of timers",
        "consecutive": "the gap right after a timeout's, at least 1.5 times as long; two timeouts of one "
        "segment are one gap, and look like one",
        "first gap": "from the request's last transmission to what arrives first",
    },
    points=rules.inferred,
)
rule(
    "B-U2",
    "Recorder of flow completions",
    "command run",
    kind="TOOL",
    tests=[
        "tests/test_run_folder.py::test_the_ccdf_counts_values_at_least_as_large",
        "tests/test_bands.py::test_a_band_holds_the_line_and_narrows_with_more_runs",
        f"{RESULTS}::a_drained_run_leaves_nothing_unfinished",
        f"{SIM}/tests/link.rs::counters_in_the_middle_count_only_what_has_happened",
    ],
    choices={"goodput": "`unique_bytes` of the table `links`: payload put on the wire for the first time"},
    points=rules.recorder,
)
context(
    "B-X11",
    "How many flows pass several bottlenecks",
    "Other studies found less than 5 % of flows; B-F8 has x = 0.05 for it, and B-F9's share of 0.25 is "
    "five times as much.",
)
