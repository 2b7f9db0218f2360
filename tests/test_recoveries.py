"""Loss recoveries over random loss: what the paper of 1997 expects of rate-halving, and what must hold of all
of them.
"""

from __future__ import annotations

from functools import cache
from math import sqrt

import pytest

import ackclock as ac

RTT = 0.1
SECONDS = 300


@cache
def transfer(stack: str, p: float, back: str = "", seed: int = 1) -> dict:
    """Counters of a bulk transfer over a path that loses data at random and never queues (M-F2a)."""
    path = {
        "kind": "single",
        "rtt": f"{RTT}s",
        "link": {"rate": "1Gbit/s", "faults": [{"kind": "loss", "p": p, "of": "data"}]},
    }
    if back:
        path["back"] = {"faults": [{"kind": back, "p": 1.0, "of": "acks"}]}
    # Windows that grow by acks, as the paper's.
    run = ac.simulate(path, {"kind": "bulk"}, {"x": f"{stack}+per-ack"}, seed=seed, duration=f"{SECONDS}s")
    (flow,) = run.flows.to_pylist()
    return flow


def window(flow: dict) -> float:
    """Mean window in segments (M-E3)."""
    return flow["bytes_acked"] / 1460 / SECONDS * flow["rtt_mean"]


def normalised(flow: dict) -> float:
    return window(flow) * sqrt(flow["p"])


@pytest.mark.parametrize(("suffix", "expected"), [("+ack-every", 1.2329), ("+delack", 1.2329 / sqrt(2))])
def test_rate_halving_fills_the_window_that_the_model_gives(suffix, expected):
    # M-X11's Monte Carlo at 1e-3, with windows rounded down and held for the round trip of a repair.
    flows = [transfer("fack-rh" + suffix, 0.001, seed=seed) for seed in (1, 2, 3)]
    assert sum(map(normalised, flows)) / 3 == pytest.approx(expected, rel=0.06)


@pytest.mark.parametrize("p", [0.01, 0.03])
def test_rate_halving_times_out_less_often(p):
    # M-F8: the others need a window of four packets.
    halving = transfer("fack-rh+ack-every", p)
    for other in ("sack", "newreno", "reno"):
        flow = transfer(f"{other}+ack-every+no-limited-transmit", p)
        assert halving["timeouts"] < flow["timeouts"]
        assert halving["non_ca_events"] / halving["ca_events"] < flow["non_ca_events"] / flow["ca_events"]


@pytest.mark.parametrize("stack", ["sack", "fack", "fack-rh", "rack"])
@pytest.mark.parametrize("p", [0.001, 0.01, 0.03])
def test_nothing_is_sent_twice_that_was_not_lost(stack, p):
    flow = transfer(f"{stack}+ack-every", p)
    assert flow["unneeded_retransmissions"] == 0 and flow["spurious_timeouts"] == 0
    assert flow["retransmitted_segments"] >= 0.8 * p * flow["data_segments_sent"] > 5


def test_few_segments_are_repaired_without_the_timer():
    # I-A9: flights too small for three duplicate acks, and tails that nothing follows.
    path = {
        "kind": "single",
        "rtt": f"{RTT}s",
        "link": {"rate": "20Mbit/s", "faults": [{"kind": "loss", "p": 0.03}]},
    }
    kinds = ["newreno", "newreno+early-retransmit", "sack", "sack+early-retransmit", "rack"]
    run = ac.simulate(
        path,
        {"kind": "fixed", "size": "8kB", "flows": 500, "stagger": "100ms"},
        {k: k for k in kinds},
        duration="50s",
        drain="100s",
    )
    flows = run.flows.to_pylist()
    assert all(f["outcome"] == "finished" for f in flows)
    timeouts, probes = (
        {k: sum(f[of] for f in flows if f["stack"] == k) for k in kinds}
        for of in ("timeouts", "tail_loss_probes")
    )
    assert (
        timeouts["newreno+early-retransmit"] < timeouts["newreno"]
        and timeouts["sack+early-retransmit"] < timeouts["sack"]
    )
    assert timeouts["rack"] < timeouts["sack+early-retransmit"] / 2
    assert probes["rack"] > 20 and not any(probes[k] for k in kinds if k != "rack")


def test_probes_are_listed_as_such():
    # The last segment of the only flow is lost: its repair is a probe, in the table of segments and by the
    # counter.
    path = {
        "kind": "single",
        "rtt": f"{RTT}s",
        "link": {"rate": "20Mbit/s", "faults": [{"kind": "segment-loss", "offset": "7900B"}]},
    }
    run = ac.simulate(
        path, {"kind": "fixed", "size": "8kB", "flows": 1}, {"x": "rack"}, duration="20s", trace=["packets"]
    )
    (flow,) = run.flows.to_pylist()
    again = [
        row for row in run.traces["segments"].to_pylist() if row["sent"] and row["kind"] == "tail-loss-probe"
    ]
    assert (flow["timeouts"], flow["tail_loss_probes"], flow["retransmitted_segments"], len(again)) == (
        0,
        1,
        1,
        1,
    )


def test_a_receiver_that_repeats_every_ack_gains_nothing():
    # M-A11: bounded, rate-halving leaves half of the window, as halving at once does.
    halving, halved = (
        normalised(transfer(s, 0.005, "duplicate")) for s in ("fack-rh+ack-every", "fack+ack-every")
    )
    assert halving <= 1.1 * halved


def test_the_parts_of_a_recovery_are_chosen_apart():
    path = {
        "kind": "single",
        "rtt": "50ms",
        "link": {"rate": "1Gbit/s", "faults": [{"kind": "loss", "p": 0.02, "of": "data"}]},
    }
    kinds = {
        f"{kind} {adjustment} {lost} {hole}": {
            "preset": "sack",
            "recovery": {"kind": kind, "adjustment": adjustment, "lost_retransmissions": lost}
            | ({} if hole is None else {"each_hole": hole}),
        }
        for kind, holes in (("sack", [None]), ("fack", [True, False]))
        for hole in holes
        for adjustment in ("halve", "rate-halving")
        for lost in ("ignore", "resend", "reduce")
    }
    run = ac.simulate(
        path,
        {"kind": "fixed", "size": "500kB", "flows": 3, "stagger": "1s"},
        kinds,
        seed=3,
        duration="30s",
        drain="60s",
    )
    flows = run.flows.to_pylist()
    assert len(flows) == 3 * len(kinds)
    assert {f["outcome"] for f in flows} == {"finished"}
    assert not any(f["unneeded_retransmissions"] for f in flows if not f["spurious_timeouts"])
