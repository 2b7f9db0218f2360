"""I-F10: packets of different sizes at a full queue."""

import numpy as np

from ackclock.reproduce.interactive2007 import f10_packet_size as f10


def test_a_queue_in_bytes_loses_large_packets_and_one_in_packets_any():
    found = {mode: f10.losses(f10.scenario(limit, 1, False).simulate()) for mode, limit in f10.QUEUES.items()}
    loss = {
        mode: {size: lost / sent for size, (sent, lost) in by_size.items()} for mode, by_size in found.items()
    }
    assert min(sent for by_size in found.values() for sent, _ in by_size.values()) >= 1000
    assert loss["bytes"][1024] > 2 * loss["bytes"][128]
    assert loss["packets"][1024] < 1.5 * loss["packets"][128]


def test_every_packet_of_the_cross_traffic_has_the_mean_size():
    run = f10.scenario("40000B", 1, False).simulate()
    sizes = {
        row["group"]: row["bytes_sent"] / row["data_segments_sent"]
        for row in run.flows.to_pylist()
        if row["group"] in map(str, f10.SIZES)
    }
    assert sizes == {f"{s}": s for s in f10.SIZES}
    resolved = f10.scenario("40000B", 1, False).resolve()
    assert 'bytes = "576B"' in resolved
    assert 'mss = "536B"' in resolved


def test_loss_that_falls_with_size_is_reported():
    rising = {s: np.array([0.01, 0.0101]) * (i + 1) for i, s in enumerate(f10.SIZES)}
    assert f10.ordered(rising).holds
    assert f10.ordered({**rising, 256: np.array([0.009, 0.0105])}).holds, "one inversion within error"
    assert not f10.ordered({**rising, 1024: np.array([0.0111, 0.0112])}).holds
    assert not f10.ordered({s: np.array([0.02, 0.021]) / (i + 1) for i, s in enumerate(f10.SIZES)}).holds
