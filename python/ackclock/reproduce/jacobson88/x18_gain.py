from __future__ import annotations

from math import pi

import matplotlib as mpl
import numpy as np
import pyarrow as pa

from ackclock.models.timer import Timer
from ackclock.plot import style
from ackclock.reproduce.item import Outcome, Setting, at_most, item, six_digits, stated

WINDOWS = (8, 32, 256)
GAINS = (4, 8, 16, 32, 64, 128, 256)
"""1/g."""
EXPECTED = {
    (8, 4): 0.352905,
    (8, 8): 0.171995,
    (8, 16): 0.0840399,
    (32, 8): 0.563253,
    (32, 32): 0.159878,
    (256, 16): 0.934715,
    (256, 256): 0.157481,
}
"""Ripple by window and 1/g."""
AT_WINDOW = 0.172
"""Of the register: the most at 1/g = w."""
STEPS = {8: 7.48888, 16: 15.4946, 256: 255.5}
"""Samples until 63 % of a step, by 1/g."""
MEAN, HEIGHT = 100.0, 10.0
"""Seconds: of the series, and of its artifact or step; large, so that nanoseconds do not matter."""


def timer(inverse: int, deviation: int = 4) -> Timer:
    """J-A4 with gains of 1/`inverse` and 1/`deviation`."""
    gains = (("g", f"{1 / inverse:.10f}"), ("h", f"{1 / deviation:.10f}"))
    return Timer("jacobson88", (*gains, ("min_rto", "0s"), ("max_rto", "1h")))


def driven(rtt: np.ndarray, of: Timer, start: float = MEAN) -> dict[str, np.ndarray]:
    """The estimates over a series with one sample for each packet."""
    return of.rows({"time": np.arange(1.0, rtt.size + 1), "rtt": rtt}, start=(start, 0.0))


def ripple(window: int, inverse: int) -> tuple[float, float]:
    """What a sine of the window's period leaves in the mean, over its height; and how far the timeout lies
    above the mean round-trip time, over that height.
    """
    # So many periods that the start has died away.
    settle = -(-40 * max(inverse, 4) // window) * window
    n = np.arange(settle + 32 * window)
    made = driven(MEAN + HEIGHT * np.sin(2 * pi * n / window), timer(inverse))
    last = made["srtt"][settle:] - MEAN
    wave = np.exp(-2j * pi * n[settle:] / window)
    return 2 * abs((last * wave).mean()) / HEIGHT, float(made["rto"][settle:].mean() - MEAN) / HEIGHT


def samples_to(share: float, inverse: int) -> float:
    """Samples until the mean has followed a step by that share, between two whole ones on the exponential
    through them.
    """
    made = driven(np.full(12 * inverse, MEAN + HEIGHT), timer(inverse))
    left = 1 - (made["srtt"] - MEAN) / HEIGHT
    k = int(np.argmax(left <= 1 - share))
    before, after = np.log(left[k - 1]), np.log(left[k])
    return k + float((before - np.log(1 - share)) / (before - after))


@item(
    "J-X18",
    kind="MODEL",
    title="The gain of the mean against the window",
    choices={
        "timer": "real arithmetic (J-A4); h = 1/4",
        "artifact": "a sine whose period is the window in packets, one sample for each packet",
        "step": "from one constant round-trip time to another",
        "ripple": "amplitude at that period over the sine's, after 40 time constants of the filter",
    },
)
def reproduce(setting: Setting) -> Outcome:
    """Sines of 8, 32 and 256 packets and a step, 1/g from 4 to 256."""
    found = {(w, k): ripple(w, k) for w in WINDOWS for k in GAINS}
    steps = {k: samples_to(1 - np.exp(-1), k) for k in GAINS}
    checks = [
        stated(
            f"ripple of a period of {w} at g = 1/{k}",
            f"{found[w, k][0]:.6g}",
            abs(found[w, k][0] / expected - 1) <= 0.02,
            f"{expected:.6g} within 2 %",
        )
        for (w, k), expected in EXPECTED.items()
    ]
    checks += [
        at_most(
            "largest ripple at 1/g = w",
            max(found[w, w][0] for w in WINDOWS),
            AT_WINDOW,
            "at most",
        ),
        six_digits(
            "samples until 63 % of a step, 1/g = 8, 16, 256", [steps[k] for k in STEPS], list(STEPS.values())
        ),
    ]
    rows = [
        {"window": w, "inverse_gain": k, "ripple": a, "timeout_above": b, "step": steps[k]}
        for (w, k), (a, b) in found.items()
    ]
    notes = [
        f"1/g = {k}: a step is followed to 63 % after {steps[k]:.1f} samples; ripple "
        + ", ".join(f"{found[w, k][0]:.3f} at a window of {w}" for w in WINDOWS)
        for k in GAINS
    ]
    notes.append(
        "For 256 packets 1/16 follows the artifact almost whole (0.93 of it) and a step after 15 samples; "
        "1/256 takes 6 % of the artifact's power and a whole window to follow a step: the paper's advice is "
        "for the second."
    )
    fig, axes = style.figure(
        "How much of a ripple the smoothed mean keeps",
        "Marks: timer driven by a sine of period w; lines: g/|1 - (1-g) exp(-2πi/w)|; dotted: limit",
    )
    g = 1 / np.geomspace(4, 256, 200)
    with mpl.rc_context(style.SETTINGS):
        for i, w in enumerate(WINDOWS):
            axes.plot(1 / g, g / abs(1 - (1 - g) * np.exp(-2j * pi / w)), label=f"w = {w}", **style.line(i))
            axes.plot(GAINS, [found[w, k][0] for k in GAINS], "o", color=style.COLOURS[i], markersize=5)
            axes.plot([w], [found[w, w][0]], "s", color=style.COLOURS[i], markersize=8, fillstyle="none")
        axes.axhline(AT_WINDOW, color="#999999", linewidth=0.9, linestyle=(0, (2, 2)))
        axes.set(xscale="log", yscale="log", xlabel="1/g (g: gain of the mean)", ylabel="share of the ripple")
        axes.grid(True)
        axes.legend(
            loc="lower left", fontsize=9, title="w: window, packets\nsquares: 1/g = w", title_fontsize=9
        )
    return Outcome(checks, {"ripple": pa.Table.from_pylist(rows)}, {"ripple": fig}, notes)
