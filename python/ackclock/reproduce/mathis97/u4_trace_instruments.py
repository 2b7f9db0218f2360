from __future__ import annotations

import numpy as np
import pyarrow as pa

import ackclock as ac
from ackclock.plot import curves
from ackclock.reproduce.item import Check, Outcome, Setting, at_most, exactly, item
from ackclock.reproduce.mathis97 import captured
from ackclock.results import Capture

LOSSES = (0.0005, 0.002, 0.008, 0.03)
SECONDS = 60.0
FEW = 0.01


@item(
    "M-U4",
    kind="TOOL",
    title="Trace instruments: round-trip times, p and loss episodes from a capture",
    choices={
        **captured.CHOICES,
        "path": "10 Mbit/s, 60 ms, ample queue; independent losses of data",
        "tolerance": "none is given: counts of the sender's own instruments (M-U1) and its least RTT are "
        "met exactly, its mean RTT to 10 % where loss is below 1 %; the sender, without "
        "timestamps, times what waits behind a repair too, the capture does not",
    },
    points_at=["command capture"],
    tests=[
        "crates/ackclock-testkit/tests/it/captured.rs::retransmissions_timeouts_and_rounds_are_those_of_the_sender",
        "crates/ackclock-testkit/tests/it/captured.rs::episodes_are_classed_as_the_sender_does",
        "crates/ackclock-testkit/tests/it/captured.rs::round_trip_times_are_those_of_the_path",
        "crates/ackclock-drive/tests/captures.rs::retransmissions_and_timeouts_match_the_kernels_counters",
        "tests/test_capture.py::test_p_is_ca_events_over_packets_and_few_are_uncertain",
        "tests/test_capture.py::test_an_outage_is_seen_as_one",
        "tests/test_capture.py::test_reordering_is_seen_as_such",
    ],
)
def reproduce(setting: Setting) -> Outcome:
    """What the capture of a transfer shows, against what its sender counted."""
    checks: list[Check] = []
    rows, shown = [], None
    for p in LOSSES:
        link = ac.Link(
            "10Mbit/s", queue=ac.queue.DropTail(limit="1000packets"), faults=ac.fault.Loss(p=p, of="data")
        )
        run = captured.transfer(link, "60ms", SECONDS)
        capture = captured.capture(run)
        found, flow = captured.sender(capture), run.flows.to_pylist()[0]
        counts = [
            found[key] for key in ("retransmitted_packets", "ca_events", "non_ca_events", "other_losses")
        ]
        counts.append(len(found["timeouts"]))
        real = [
            flow[key]
            for key in ("retransmitted_segments", "ca_events", "non_ca_events", "other_losses", "timeouts")
        ]
        checks.append(exactly(f"loss {p:g}: retransmissions, CA, non-CA, other, timeouts", counts, real))
        checks.append(
            exactly(
                f"loss {p:g}: least RTT (us)", round(1e6 * found["rtt"]["min"]), round(1e6 * flow["rtt_min"])
            )
        )
        if p < FEW:
            off = abs(found["rtt"]["mean"] / flow["rtt_mean"] - 1)
            checks.append(at_most(f"loss {p:g}: mean RTT, relative difference", off, 0.1, "10 %"))
        most = {"max_rtt": found["rtt"]["max"], "max_rtt_sender": flow["rtt_max"]}
        rows.append(
            {
                "loss": p,
                "p": found["p"],
                "p_sender": flow["p"],
                "rtt": found["rtt"]["mean"],
                "rtt_sender": flow["rtt_mean"],
                **most,
            }
        )
        shown = shown or capture
    return Outcome(
        checks, {"measured": pa.Table.from_pylist(rows)}, {"flight": figure(shown)} if shown else {}
    )


def figure(capture: Capture) -> object:
    """What was in flight, and the window that it shows."""
    samples = captured.samples(capture)
    time = samples["time"].to_numpy()
    lines = [
        (name, np.asarray(samples[column].to_numpy(), float) / captured.MSS)
        for name, column in (("in flight", "pipe"), ("window inferred", "cwnd"))
    ]
    return curves(
        time,
        lines,
        title="In flight, and the window that a capture shows",
        subtitle=f"NewReno over 10 Mbit/s, 60 ms, {LOSSES[0]:.2%} loss; from its capture alone",
        xlabel="time (s)",
        ylabel="segments",
    )
