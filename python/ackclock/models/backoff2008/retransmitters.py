"""The assumptions of theorem 2.1 as a model of rows: a packet per timeout from each flow, whether it was lost
or not (B-E6).
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from ackclock._core import InputError

LARGEST = 50_000_000
"""Most packets of a run of the model."""


@dataclass(frozen=True)
class Retransmitters:
    """Flows that all retransmit for ever at one bottleneck.

    rto (s): of each flow. packets: how many make up its file; with the last one delivered the next file
    begins. capacity (packets/s): of the bottleneck, which serves one packet at a time in order. queue:
    packets that wait there; one that finds it full is lost. Waiting times are exponential with the timeout
    for a mean: synchronised sources would lose packets by their phase, and not all alike as equation (1)
    assumes.
    """

    rto: tuple[float, ...]
    packets: tuple[int, ...]
    capacity: float
    queue: int = 200
    seed: int = 2008

    def __post_init__(self) -> None:
        if not self.rto or len(self.rto) != len(self.packets):
            raise InputError(
                f"{len(self.rto)} timeouts and {len(self.packets)} files: give one of each for every flow"
            )
        if min(self.rto) <= 0 or min(self.packets) < 1 or self.capacity <= 0 or self.queue < 1:
            raise InputError("timeouts, files, the capacity and the queue of the model must all be above 0")

    def run(self, seconds: float, k: float = 0.0) -> tuple[np.ndarray, float]:
        """Mean response time (s) of each flow's files, and the loss ratio, when all flows have backed off k
        times.

        Raises InputError for a run of too many packets.
        """
        times, flows = self._arrivals(seconds, k)
        delivered = self._serve(times)
        response = np.full(len(self.rto), np.nan)
        for flow, size in enumerate(self.packets):
            ends = times[delivered & (flows == flow)][size - 1 :: size]
            if ends.size > 1:
                # The first file begins with the run, in the middle of nowhere.
                response[flow] = float(np.diff(ends).mean())
        return response, float(1 - delivered.mean())

    def _arrivals(self, seconds: float, k: float) -> tuple[np.ndarray, np.ndarray]:
        """Times of all packets in order, and their flows."""
        waits = np.asarray(self.rto) * np.exp2(k)
        expected = float((seconds / waits).sum())
        if expected > LARGEST:
            raise InputError(f"the model would send {expected:.3g} packets; expected at most {LARGEST:.3g}")
        rng = np.random.default_rng(self.seed)
        times, flows = [], []
        for flow, wait in enumerate(waits):
            count = int(seconds / wait + 8 * np.sqrt(seconds / wait)) + 20
            t = np.cumsum(rng.exponential(wait, count))
            t = t[t < seconds]
            times.append(t)
            flows.append(np.full(t.size, flow))
        all_times, all_flows = np.concatenate(times), np.concatenate(flows)
        order = np.argsort(all_times, kind="stable")
        return all_times[order], all_flows[order]

    def _serve(self, times: np.ndarray) -> np.ndarray:
        """Which packets find room: the backlog falls by the capacity and rises by one packet."""
        delivered = np.zeros(times.size, bool)
        backlog, last, room = 0.0, 0.0, float(self.queue)
        for i, now in enumerate(times.tolist()):
            backlog = max(backlog - (now - last) * self.capacity, 0.0)
            last = now
            if backlog <= room:
                backlog += 1.0
                delivered[i] = True
        return delivered
