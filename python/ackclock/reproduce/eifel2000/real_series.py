"""Round-trip times of real captures: this project's own, of Linux over emulated paths, which lie among its
tests.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import pyarrow.compute as pc

from ackclock.models.timer import Timer
from ackclock.reproduce import pointer
from ackclock.results import read_capture

LEAST, SLOW = 300, 0.005
"""Samples of a series, and its median round-trip time (s): shorter ones are those of the machine."""
FILES = {
    "CUBIC": "shadow/tests/fixtures/kernel-cubic",
    "Reno": "shadow/tests/fixtures/kernel-reno",
    "BBR": "shadow/tests/fixtures/kernel-bbr",
    "losses of several causes": "shadow/tests/fixtures/kernel-causes",
    "timeouts from 300 ms": "shadow/tests/fixtures/kernel-min-rto-300ms",
    "delay spikes": "capture/tests/fixtures/kernel-delay-spike-receiver",
    "long queue": "capture/tests/fixtures/kernel-limited-queue-near",
    "long queue, no timestamps": "capture/tests/fixtures/kernel-limited-queue-unstamped-near",
    "slow sender": "capture/tests/fixtures/kernel-limited-slow-sender",
}
"""Captures with enough samples, by what they are of."""
CHOICE = (
    f"of Linux over emulated paths, with {LEAST} samples or more and a median round-trip time of "
    f"{1e3 * SLOW:g} ms or more: of CUBIC, Reno and BBR, with losses, delay spikes and long queues; real "
    f"kernels "
    "and clocks, but no paths of the Internet"
)


@dataclass(frozen=True)
class Series:
    """The samples of a connection."""

    name: str
    columns: dict[str, np.ndarray]
    smss: int

    def ratios(self, timer: Timer, settle: int = 20) -> np.ndarray:
        """RTO(i-1)/RTT(i) of each sample after the first ones."""
        rto = timer.rows(self.columns, smss=self.smss)["rto"]
        return (rto[:-1] / self.columns["rtt"][1:])[settle:]


def series() -> list[Series]:
    """Those of all captures; none without a checkout."""
    if not pointer.in_checkout():
        return []
    found = []
    for name, file in FILES.items():
        capture = read_capture(pointer.ROOT / "crates" / f"ackclock-{file}.pcap.gz")
        rows = capture.samples.filter(pc.is_valid(capture.samples["rtt"]))
        numbers, counts = np.unique(rows["connection"].to_numpy(), return_counts=True)
        mine = rows.filter(pc.equal(rows["connection"], int(numbers[counts.argmax()])))
        pipe = mine["pipe"].fill_null(0).to_numpy()
        smss = 1448
        window = {"flight_size": pipe}
        if mine["cwnd"].null_count == 0:
            window["cwnd"] = mine["cwnd"].to_numpy()
        time = mine["time"].to_numpy()
        if np.median(mine["rtt"].to_numpy()) < SLOW or mine.num_rows < LEAST:
            continue
        columns = {"time": time - time[0] + 1.0, "rtt": mine["rtt"].to_numpy(), **window}
        found.append(Series(name, columns, smss))
    return found
