"""Q: the share of loss indications of a backlogged flow that are timeouts, when losses come in bursts and
when each packet is lost by itself.
"""

import numpy as np

from ackclock.models.formula import LOSS, Array, Input, floats, formula
from ackclock.models.pftk98 import expected_window, timeout_share

B = Input("number", "packets per ack: 1 without delayed acks", default=1.0)
W = Input("packets", "window at the loss, packets")
WMAX = Input("packets", "largest window: the window is uniform from 0 up to it")
EXPONENT = Input("ratio", "1: the source's flattened `(2-p)w` read as a power; 0: as a product", default=1.0)


@formula("I-E6", name="correlated-timeouts", result="Q", unit="ratio", p=LOSS, b=B)
def correlated_timeouts(p: Array, b: Array = 1.0) -> Array:
    """Share of a backlogged flow's loss indications that are timeouts, when losses come in bursts.

    `pftk-timeouts` at the mean window of `pftk-window`, which approximates the mean over windows.

    p: a ratio; b: a number; shapes that broadcast. Returns a share.
    Source: equation (6) of Mondal & Kuzmanovic 2007, with PFTK's E[W] and Q.
    """
    p, b = floats(p, b)
    return timeout_share(p, expected_window(p, b))


@formula("I-E7", name="random-timeouts-at", result="Q", unit="ratio", p=LOSS, w=W)
def random_timeouts_at(p: Array, w: Array) -> Array:
    """Share of the loss indications at a window that are timeouts, when each packet is lost by itself: exact.

    `P(Bin(w-1, 1-p) <= 2)`: fewer than three of the packets beside the lost one arrive, so that there are no
    three duplicate acks. A window that is no whole number counts as the one below it.

    p: a ratio; w: packets; shapes that broadcast. Returns a share.
    Source: derived: the model that equation (7) of Mondal & Kuzmanovic 2007 bounds.
    """
    p, w = np.broadcast_arrays(*floats(p, w))
    return at_most_two(p, np.floor(w) - 1.0)


@formula("I-E7", name="random-timeouts", result="Q", unit="ratio", p=LOSS, b=B)
def random_timeouts(p: Array, b: Array = 1.0) -> Array:
    """Share of a backlogged flow's loss indications that are timeouts, when each packet is lost by itself.

    The mean of `random-timeouts-at` over windows from 1 to `round(2 E[w])`, with E[w] of `pftk-window`.

    p: a ratio; b: a number; shapes that broadcast. Returns a share.
    Source: derived from equation (7) and figure 3 of Mondal & Kuzmanovic 2007: windows uniform up to twice
    the mean.
    """
    p, b = np.broadcast_arrays(*floats(p, b))
    largest = np.round(2.0 * expected_window(p, b))
    # The chance of at most two arrivals falls off within tens of packets: windows beyond that add nothing.
    share, w = np.zeros(p.shape), 1.0
    while np.any(more := w <= largest):
        term = at_most_two(p, np.full(p.shape, w - 1.0))
        share += np.where(more, term, 0.0)
        if not np.any(term > 1e-18):
            break
        w += 1.0
    return share / largest


@formula("I-E7", name="random-timeouts-bound", result="Q", unit="ratio", p=LOSS, w=W, power=EXPONENT)
def random_timeouts_bound(p: Array, w: Array, power: Array = 1.0) -> Array:
    """Bound on the share of loss indications at a window that are timeouts, when each packet is lost by
    itself, as printed.

    `sum over k = 0..2 of C(w,k) p^(w-k) (1-p)^k (1 + (1-p)^k ((2-p)^w - 1)) / (1-(1-p)^w)`, at most 1; 1 up
    to a window of 3. The source has `(2-p)w`, with a flattened exponent or without one: `power` chooses.

    p: a ratio; w: packets; power: 1 or 0; shapes that broadcast. Returns a share.
    Source: equation (7) of Mondal & Kuzmanovic 2007, after Brosh et al.
    """
    p, w, power = np.broadcast_arrays(*floats(p, w, power))
    inner = np.where(power > 0.5, (2.0 - p) ** w, (2.0 - p) * w) - 1.0
    total = sum(ways(w, k) * p ** (w - k) * (1.0 - p) ** k * (1.0 + (1.0 - p) ** k * inner) for k in range(3))
    with np.errstate(divide="ignore", invalid="ignore"):
        return np.where(w <= 3.0, 1.0, np.minimum(1.0, total / -np.expm1(w * np.log1p(-p))))


@formula("I-E8", name="random-timeouts-loose", result="Q", unit="ratio", p=LOSS, wmax=WMAX)
def random_timeouts_loose(p: Array, wmax: Array) -> Array:
    """Loose bound on the share of a backlogged flow's loss indications that are timeouts, when each packet is
    lost by itself.

    `min(1, (6 + 96p - 32p^2)/wmax)`. Windows of 1, 2 and 3 always time out, so that the exact constant is 3,
    not 6; wmax is not stated in the paper (its mean window, or twice that).

    p: a ratio; wmax: packets; shapes that broadcast. Returns a share.
    Source: equation (8) of Mondal & Kuzmanovic 2007.
    """
    p, wmax = floats(p, wmax)
    return np.minimum(1.0, (6.0 + 96.0 * p - 32.0 * p**2) / wmax)


def at_most_two(p: Array, n: Array) -> Array:
    """P(Bin(n, 1-p) <= 2): at most two of n packets arrive. 1 for n below 3."""
    inside = np.maximum(n, 2.0)
    share = sum(ways(inside, k) * p ** (inside - k) * (1.0 - p) ** k for k in range(3))
    return np.where(n < 3.0, 1.0, share)


def ways(n: Array, k: int) -> Array:
    """C(n, k) for k up to 2."""
    return (np.ones_like(n), n, n * (n - 1.0) / 2.0)[k]
