from __future__ import annotations

from ackclock.models import mathis97 as m
from ackclock.reproduce.item import Check, pinned, six_digits


def steps() -> list[Check]:
    """Equation (14) for one rate and one path: the loss that it allows goes with the square of the segment
    size.
    """
    small, middle, large = m.loss_for_rate(1e6, 0.1, [536, 1460, 4312])
    return [
        six_digits(
            "loss allowed with 1460 over 536 bytes, with 4312 over 1460",
            [middle / small, large / middle],
            [7.41952, 8.72272],
        )
    ]


pinned("M-X5", "Rules of thumb: a factor of 3 in segment size, almost 10 in the loss allowed", steps)
