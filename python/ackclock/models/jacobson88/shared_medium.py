"""Many sources with one packet each before a medium that serves one packet a slot (J-X9): a shared one with
collisions, and a router's queue.

The wait after a failure is that of the backoff that connections run; each is drawn between one slot and the
backed-off timeout, since waits that are the same for all would collide for ever.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from ackclock._core import InputError, backoff_schedule
from ackclock.models.timer import Array

MEDIA = ("collision", "drop-tail")
ROUNDS = 64
"""Distinct rounds of backoff; later ones wait as long as the last."""
LARGEST_SLOTS, LARGEST_SOURCES = 10_000_000, 1_000_000
SLOT = 1_000_000
"""Nanoseconds of a slot in the schedule of a backoff."""


@dataclass(frozen=True)
class Bench:
    """The base of both media."""

    sources: int
    """Each has always a packet to send."""
    backoff: str
    """Name of the policy."""
    timeout: int = 8
    """Slots of the first timeout, and the most slots before a source offers its next packet."""
    slots: int = 20_000
    seed: int = 1988

    def __post_init__(self) -> None:
        if not (
            1 <= self.sources <= LARGEST_SOURCES and self.timeout >= 1 and 1 <= self.slots <= LARGEST_SLOTS
        ):
            raise InputError(
                f"the bench needs 1 to {LARGEST_SOURCES} sources, a timeout of at least 1 slot and 1 "
                f"to {LARGEST_SLOTS} slots"
            )

    def waits(self) -> Array:
        """Longest wait (slots) after so many failures in a row, of shape (ROUNDS,); the first is the wait
        before a new packet.
        """
        # A day is longer than any wait here: the schedule alone decides.
        params = [] if self.backoff == "none" else [("max_timeout", "24h")]
        schedule = np.array(backoff_schedule(self.backoff, params, self.timeout * SLOT, ROUNDS - 1)) // SLOT
        return np.concatenate([[self.timeout], schedule]).astype(np.int64)

    def run(self, medium: str, limit: int = 20) -> Array:
        """Packets served in each slot, 0 or 1, of shape (slots,).

        collision: a slot serves the packet that is alone in it. drop-tail: packets enter a queue of `limit`,
        which refuses those that find it full, and a slot serves its head. A packet that is not served or not
        let in counts as a failure at once.
        """
        if medium not in MEDIA:
            raise InputError(f"`{medium}` is not a medium; expected one of {', '.join(MEDIA)}")
        rng, waits = np.random.default_rng([self.seed, self.sources]), self.waits()
        failures = np.zeros(self.sources, np.int64)
        # When each source sends next; those in the queue wait for good.
        due = rng.integers(0, self.timeout, self.sources)
        queue: list[int] = []
        served = np.zeros(self.slots, np.int8)
        for slot in range(self.slots):
            here = np.flatnonzero(due == slot)
            if medium == "collision":
                done = here if here.size == 1 else here[:0]
                failed = here[done.size :]
            else:
                if here.size > 1:
                    here = rng.permutation(here)
                room = limit - len(queue)
                entered, failed = here[:room], here[room:]
                due[entered] = -1
                queue.extend(entered.tolist())
                done = np.array([queue.pop(0)], np.int64) if queue else here[:0]
            if done.size:
                served[slot] = 1
                failures[done] = 0
                due[done] = slot + 1 + rng.integers(0, waits[0], done.size)
            if failed.size:
                failures[failed] = np.minimum(failures[failed] + 1, ROUNDS - 1)
                due[failed] = slot + 1 + rng.integers(0, waits[failures[failed]])
        return served
