from __future__ import annotations

import itertools
from collections.abc import Sequence
from dataclasses import dataclass

import matplotlib as mpl
import numpy as np
import pyarrow as pa
from matplotlib.figure import Figure

import ackclock as ac
from ackclock.plot import style
from ackclock.reproduce.eifel2000 import testbed
from ackclock.reproduce.item import Outcome, Setting, at_most, between, exactly, item
from ackclock.results import Run
from ackclock.results.timing import Timing

BITS, ROOM, SECONDS = 9600, 2, 3600
PAPER = 30.0
"""Almost 30 percent (E-F8)."""

ARITHMETIC = {
    "integer ticks": ac.estimator.Jacobson88Ticks(max_rto="1h"),
    "real, samples in ticks": ac.estimator.Lite(max_rto="1h"),
    "real, exact samples": ac.estimator.Lite(rounded=False, max_rto="1h"),
}
"""How RTO_L is computed. The last keeps the floor of two ticks alone."""
AVOIDANCE, SLOW_START, LITE = "avoidance at ssthresh", "slow start at ssthresh", "4.4BSD-Lite"
WINDOWS = {
    AVOIDANCE: {},
    SLOW_START: {"at_ssthresh": True},
    LITE: {"at_ssthresh": True, "increase_factor": 1.125},
}
"""What happens where the window equals the threshold: RFC 5681 3.1 allows either, and BSD's code went on with
slow start. 4.4BSD-Lite also added an eighth of a segment at each ack above it (RFC 5681 3.1 calls such a
constant wrong)."""
SAMPLINGS = {
    "timestamps": {"timestamps": True},
    "every segment, Karn": {},
    "one per round trip": {"rtt_sampling": "once-per-rtt"},
}
COUNTDOWNS = {
    "REXMT_L": ac.timer.RestartOnAck(heartbeat="500ms", fast_retransmit=True),
    "REXMT_E": ac.timer.Precise(heartbeat="500ms"),
}


@dataclass(frozen=True)
class Reading:
    """What the paper leaves open, and one way to fill it in."""

    framing: int = 10
    window: str = AVOIDANCE
    arithmetic: str = "integer ticks"
    sampling: str = "timestamps"
    room: int = ROOM
    """Packets that the line holds, with the one being sent."""
    seconds: int = SECONDS
    age: str = "exact"
    """How REXMT_E knows the age: exactly, or in ticks."""
    service: float | None = None
    """Service time (s) in place of the framing's."""

    def stacks(self) -> dict[str, ac.Stack]:
        """The two hosts, which differ in their countdown alone."""
        window = ac.window.Reno(
            initial_window="segments", initial_segs=1, byte_counting=False, **WINDOWS[self.window]
        )
        ticked = ac.timer.Precise(heartbeat="500ms", whole_ticks=True)
        return {
            name: testbed.sender(
                ARITHMETIC[self.arithmetic],
                ticked if name == "REXMT_E" and self.age == "ticks" else countdown,
            ).but(window=window, **SAMPLINGS[self.sampling])
            for name, countdown in COUNTDOWNS.items()
        }

    def path(self) -> ac.Single:
        """The line."""
        if self.service is None:
            return testbed.line(BITS, self.room, self.framing)
        return testbed.line(round(testbed.MTU * 8 / self.service), self.room, 8)

    def scenario(self, trace: list[str] | None = None) -> ac.Scenario:
        """Both transfers."""
        return ac.Scenario.of(
            self.path(), ac.Bulk(), self.stacks(), duration=f"{self.seconds}s", trace=trace or ["none"]
        )

    def gain(self, run: Run) -> dict[str, object]:
        """What REXMT_E gains (percent of the bytes delivered with REXMT_L), and how often each timed out."""
        old, new = run.flows.to_pylist()
        assumed = {name: value for name, value in vars(self).items() if name != "service"}
        return assumed | {
            "gain": 100 * (new["bytes_delivered"] / old["bytes_delivered"] - 1),
            "timeouts_L": old["timeouts"],
            "timeouts_E": new["timeouts"],
            "fast_recoveries_L": old["fast_recoveries"],
            "fast_recoveries_E": new["fast_recoveries"],
        }


def readings() -> list[Reading]:
    """All that were tried."""
    framings = (10, 8)
    found = [Reading(*r) for r in itertools.product(framings, WINDOWS, ARITHMETIC, SAMPLINGS)]
    found += [
        Reading(f, w, seconds=s) for f, w, s in itertools.product(framings, WINDOWS, (60, 120, 300, 600))
    ]
    found += [
        Reading(f, w, a, room=r) for f, w, a, r in itertools.product(framings, WINDOWS, ARITHMETIC, (3, 4))
    ]
    return found + [Reading(f, w, age="ticks") for f, w in itertools.product(framings, WINDOWS)]


CHOICES = {
    "line": "9.6 kbit/s with 10 bits for each byte (service time 1.5625 s) and with 8 (1.25 s); propagation "
    "delay 5 ms each way",
    "buffer of 1 packet": "one packet waits and one is being sent: with the one that is dropped, 3 "
    "segments are outstanding at most",
    "tick arithmetic": "the integers of 4.4BSD-Lite (scaled by 8 and 4, J-A6), samples and countdown in "
    "ticks of 500 ms, floor 2 ticks",
    "window": "slow start or congestion avoidance where it equals the threshold; first window 1 segment, "
    "no slow-start threshold to begin with",
    "samples": "every segment, by timestamps, those of resent segments too",
    "backoff": "doubling at each expiry, until a valid sample (Karn)",
    "age in REXMT_E": "exact; counted in ticks in some readings",
    "recovery": "Reno without limited transmit and SACK",
    "buffers": "1 MiB: windows of 3 segments or more make no difference, and with 2 nothing is lost",
    "duration": f"{SECONDS} s; shorter ones in the table",
    "real hosts": testbed.CHOICES["real hosts"],
}


@item("E-F8", kind="SIM", title="A countdown that takes the age off gains throughput", choices=CHOICES)
def reproduce(setting: Setting) -> Outcome:
    """The gain under all readings of what the paper leaves open; the gate holds for those with integer ticks
    and timestamps.
    """
    table = gains(readings(), setting, (0.0, 0.6))
    steady = [
        r
        for r in table
        if (r["arithmetic"], r["room"], r["seconds"], r["age"]) == ("integer ticks", ROOM, SECONDS, "exact")
    ]
    gate = [r for r in steady if r["sampling"] == "timestamps"]
    checks = [
        between(f"gain (%), {r['window']}, {r['framing']} bits for each byte", r["gain"], 10.0, 40.0)
        for r in gate
        if r["window"] != LITE
    ]
    checks += [
        exactly(
            "fast recoveries of all these transfers, both hosts",
            sum(r["fast_recoveries_L"] + r["fast_recoveries_E"] for r in gate),
            0,
        ),
        at_most("most segments outstanding", float(outstanding()), 3, "at most"),
    ]
    curves = scan(setting)
    lite = {r["framing"]: r["gain"] for r in gate if r["window"] == SLOW_START}
    real = [
        r["gain"]
        for r in table
        if r["arithmetic"] != "integer ticks" and r["room"] == ROOM and r["seconds"] == SECONDS
    ]
    karn = [
        r["gain"]
        for r in table
        if r["arithmetic"] != "integer ticks" and r["window"] == SLOW_START and r["sampling"] != "timestamps"
    ]
    more = [r for r in table if r["room"] > ROOM and r["arithmetic"] == "integer ticks"]
    lites = [r["gain"] for r in more if r["window"] == LITE]
    others = [r["gain"] for r in more if r["window"] != LITE]
    middle = {name: np.percentile(v, (25, 50, 75)) for name, v in curves.items() if name != "service_time"}
    notes = [
        "The paper's almost 30 percent: with slow start at the threshold, as BSD had it, "
        f"{lite[10]:.3g} % over 10 bits for each byte and {lite[8]:.3g} % over 8. The window is at "
        "three segments sooner than with avoidance, so that losses and timeouts come more often. "
        "4.4BSD-Lite's eighth of a segment changes nothing here, as the window is never above three.",
        (
            "Where the acks fall between the ticks matters little, see the figure. Over service times from 1 "
            "to 2 s, quartiles and median (%): "
        )
        + "; ".join(f"{name} {q[0]:.3g}, {q[1]:.3g}, {q[2]:.3g}" for name, q in middle.items())
        + ".",
        "With timestamps, real arithmetic gains as much. With samples by Karn's rule it does not "
        f"({min(karn):.3g} to {max(karn):.3g} %; over all windows and samplings {min(real):.3g} to "
        f"{max(real):.3g} %): without the rounding of integer ticks, which never lets RTO_L sink to "
        "the round-trip time, REXMT_E expires before acks that are only late.",
        "With room for one packet more, a fourth segment is outstanding and fast retransmit works. "
        f"Then nothing is gained ({min(others):.2g} to {max(others):.2g} %), but with 4.4BSD-Lite's "
        f"window ({min(lites):.3g} to {max(lites):.3g} %), whose fast recoveries nearly all end in a "
        "timeout.",
    ]
    return Outcome(
        checks,
        {"readings": pa.Table.from_pylist(table), "service_times": pa.table(curves)},
        {"gain": figure(curves)},
        notes,
    )


def gains(tried: Sequence[Reading], setting: Setting, share: tuple[float, float]) -> list[dict[str, object]]:
    """The gain with each reading."""
    runs = setting.run_all([r.scenario() for r in tried], "E-F8", share)
    return [r.gain(run) for r, run in zip(tried, runs, strict=True)]


def outstanding() -> int:
    """The most segments that were outstanding at an ack."""
    run = Reading(seconds=600).scenario(["packets"]).simulate()
    found = [Timing.of(testbed.rows(run, "segments", name)) for name in COUNTDOWNS]
    return max(int(-(-t.flight.max() // t.smss)) for t in found)


def scan(setting: Setting) -> dict[str, np.ndarray]:
    """The gain over the service time: integer ticks with either window, and real arithmetic."""
    service = np.arange(1.0, 2.0001, 0.005 if setting.full else 0.0125)
    columns = {"service_time": service}
    wanted = [
        ("integer ticks", SLOW_START),
        ("integer ticks", AVOIDANCE),
        ("real, exact samples", SLOW_START),
    ]
    for n, (arithmetic, window) in enumerate(wanted):
        tried = [Reading(10, window, arithmetic, service=float(s)) for s in service]
        share = (0.6 + 0.4 * n / len(wanted), 0.6 + 0.4 * (n + 1) / len(wanted))
        columns[f"{arithmetic}, {window}"] = np.array([g["gain"] for g in gains(tried, setting, share)])
    return columns


def figure(curves: dict[str, np.ndarray]) -> Figure:
    """The gain over the service time, the paper's number and the register's gate."""
    fig, axes = style.figure(
        "How much more a precise countdown delivers",
        "Eifel's countdown (REXMT_E) against Lite's (REXMT_L), an hour each; buffer of 1 packet",
    )
    service = curves["service_time"]
    with mpl.rc_context(style.SETTINGS):
        axes.axhspan(10, 40, color="#f0f0f0", zorder=0, label="expected: 10 to 40 %")
        axes.axhline(
            PAPER, color="#555555", linewidth=1.0, linestyle=(0, (1, 2)), label="the paper: almost 30 %"
        )
        for framing in (8, 10):
            at = testbed.MTU * framing / BITS
            axes.axvline(at, color="#999999", linewidth=0.8)
            axes.annotate(
                f"{framing} bits a byte",
                (at, 1),
                (3, -10),
                xycoords=("data", "axes fraction"),
                textcoords="offset points",
                fontsize=8.5,
            )
        for i, (name, values) in enumerate(list(curves.items())[1:]):
            axes.plot(
                service, values, label=name, marker="o", markersize=2.2, **{**style.line(i), "linewidth": 1.0}
            )
        axes.set(
            xlabel="service time (s)",
            ylabel="gain in delivered bytes (%)",
            xlim=(service[0], service[-1]),
            ylim=(min(0.0, 1.05 * min(float(v.min()) for v in list(curves.values())[1:])), 43),
        )
        axes.grid(True)
        axes.legend(fontsize=8.5, loc="lower right")
    return fig
