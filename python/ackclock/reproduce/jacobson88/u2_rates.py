from __future__ import annotations

import numpy as np
import pyarrow as pa

import ackclock as ac
from ackclock.reproduce.item import Outcome, Setting, exactly, item, six_digits, stated, within
from ackclock.reproduce.jacobson88 import testbed
from ackclock.results.spikes import decay, spikes
from ackclock.results.transfer import Transfer, binned, total_rate

PACKETS = 50
"""Packets a second that the link of the synthetic traces carries."""
WIDTH = 3.0


def held_back(windows: list[int], at: list[float], share: float = 0.5) -> tuple[np.ndarray, np.ndarray]:
    """Acknowledgments of a full link on which one of two senders loses a packet at some moments, and sends it
    again three seconds later.

    The rest of its window arrives meanwhile, in its share of the link's packets, and is acknowledged at once
    when the lost packet has come; the other sender takes what the link has over.
    """
    time = np.arange(0, 100, 1 / PACKETS)
    amount = np.ones(time.size)
    for window, lost in zip(windows, at, strict=True):
        first = int(lost * PACKETS)
        held = first + np.round(np.arange(window - 1) / share).astype(int)
        amount[held] = 0
        amount[first + int(WIDTH * PACKETS)] += window - 1
    return time, amount


def windows_read() -> tuple[np.ndarray, np.ndarray]:
    """The windows that the spikes of synthetic traces show, and those that they were made with: as many only
    where each was found.
    """
    wanted, got = [], []
    for phase in np.arange(0, WIDTH, 0.2):
        windows = [32, 24, 18, 12]
        time, amount = held_back(windows, [12.0 + phase, 33.0 + phase, 54.0 + phase, 75.0 + phase])
        found = spikes(time, amount, WIDTH, PACKETS, 5, 100)
        got += [s.height + 1 for s in found]
        wanted += windows
    return np.array(got, float), np.array(wanted, float)


@item("J-U2", kind="CAP", title="Rate series, windows read from spikes, exponential fit")
def reproduce(setting: Setting) -> Outcome:
    """The tool on synthetic traces whose answer is known, and on a simulated one."""
    got, wanted = windows_read()
    times = np.array([15.0, 33.0, 57.0])
    constant, tau = decay(times, 30 * np.exp(-times / 28))
    time, size = np.array([0.0, 1.0, 4.9, 5.0, 14.9]), np.array([512, 512, 512, 1024, 512])
    run = ac.simulate(
        testbed.one_conversation(),
        ac.Fixed(size="200kB"),
        {"new": testbed.new_tcp()},
        duration="60s",
        trace=["packets"],
    )
    t = testbed.only_transfer(run, "new")
    sums = [
        float(total_rate([t], w, 60.0, acked=acked).sum() * w) for w in (3.0, 5.0) for acked in (False, True)
    ]
    checks = [
        exactly(
            "bytes per bin of 5 s of a known trace",
            (binned(time, size, 5.0, 14.9) * 5).tolist(),
            [1536.0, 1024.0, 512.0],
        ),
        stated(
            "windows read from synthetic spikes, packets",
            f"{len(got)} spikes of {len(wanted)}" + off(got, wanted),
            within_one(got, wanted),
        ),
        six_digits(
            "exponential of a known decay: value at 0 (packets), time constant (s)", [constant, tau], [30, 28]
        ),
        within(
            "bytes in bins of 3 and 5 s, sent and acknowledged, of a transfer without loss",
            max(sums) - min(sums),
            0,
            1e-6,
        ),
        exactly("and of what was written (bytes)", round(sums[0]), 200_000),
    ]
    # A spike that was missed or imagined leaves the columns without pairs.
    windows = {"windows": pa.table({"read": got, "made": wanted})} if got.size == wanted.size else {}
    return Outcome(checks, {**windows, "sent": frame(t)})


def off(got: np.ndarray, wanted: np.ndarray) -> str:
    """How far the windows read are off, where each was found."""
    return f", at most {np.abs(got - wanted).max():.2g} off" if 0 < got.size == wanted.size else ""


def within_one(got: np.ndarray, wanted: np.ndarray) -> bool:
    """True when each window was found and is right within a packet."""
    return got.size == wanted.size and got.size > 0 and bool((np.abs(got - wanted) <= 1).all())


def frame(t: Transfer) -> pa.Table:
    """A transfer's rates per second."""
    sent, acked = (total_rate([t], 1.0, float(t.acked_at[-1]), acked=a) for a in (False, True))
    return pa.table({"time": np.arange(sent.size, dtype=float), "sent": sent, "acked": acked})
