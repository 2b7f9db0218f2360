"""Real forms of M-F14 and M-F15: the kernel's `reno` as the modem user's and the research user's TCP."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pyarrow as pa

import ackclock as ac
from ackclock.plot import Measured, measured, style
from ackclock.reproduce.item import Outcome, Setting, at_least, between, stated
from ackclock.reproduce.mathis97 import f14_modem_user as f14
from ackclock.reproduce.mathis97 import f15_research_user as f15
from ackclock.reproduce.mathis97 import lossy, modem, scatter, steady
from ackclock.reproduce.real_form import KERNEL, TWIN, Pair, real_form, together

LOSSES = (0, 0.01, 0.02, 0.03, 0.05, 0.1, 0.15, 0.2)
FAST_LOSSES = (0.001, 0.003, 0.01, 0.02, 0.05, 0.1, 0.15, 0.2)
WARM, SECONDS, FULL = 30.0, 170.0, 300.0
FAST_SECONDS = 70.0
HARMLESS = 0.02
NEAR = 0.25
AT_ONCE = 12
FAST_AT_ONCE = 6
SYSCTL = {"net.ipv4.tcp_early_retrans": "0"}

CHOICES = {
    **{key: modem.CHOICES[key] for key in ("shared link L", "modem", "users")},
    "kernel": "`reno` with SACK, RACK and the kernel's timers, without tail loss probes: not FACK-RH",
    "acks": "the kernel's delayed acks: every second segment or 40 ms and more",
    "twin": "the preset `linux-reno` without probes",
}


def stack(mss: int, timestamps: bool) -> ac.Stack:
    """The kernel with segments of so many bytes, timestamps among them, and its twin."""
    sysctl = SYSCTL if timestamps else {**SYSCTL, "net.ipv4.tcp_timestamps": "0"}
    return ac.Stack(
        "linux-reno",
        recovery=ac.recovery.Rack(linux=True, tlp=False),
        mss=f"{mss}B",
        timestamps=timestamps,
        kernel={"cc": "reno", "sysctl": sysctl},
    )


def spans(pair: Pair, payload: int) -> dict[str, steady.Span]:
    """What was counted in both worlds."""
    return {KERNEL: steady.of_kernel(pair.kernel, payload), TWIN: steady.span(pair.twin)}


def timed(scenario: ac.Scenario, seconds: float) -> ac.Scenario:
    """The scenario with so many seconds that count."""
    return scenario.but({"duration": f"{WARM + seconds:g}s", "measure_from": f"{WARM:g}s"})


@real_form(
    "M-F14",
    title="The kernel's TCP as the modem user's",
    choices={
        **CHOICES,
        "packets": f"{modem.PACKET} bytes without timestamps",
        "duration": f"{SECONDS:g} s after {WARM:g} s that do not count ({FULL:g} s with --full), one seed; "
        "all losses side by side",
    },
)
def slow(setting: Setting) -> Outcome:
    """Loss from none to 20 %."""
    seconds = FULL if setting.full else SECONDS
    kernel = {"tcp": stack(modem.PACKET - modem.ACK, False)}
    scenarios = {loss: timed(modem.modem(loss, stacks=kernel), seconds) for loss in LOSSES}
    pairs = together(scenarios, setting, "M-F14 real", at_once=AT_ONCE, recoveries=True)
    rows: list[dict[str, Any]] = []
    notes: list[str] = []
    for loss, pair in pairs.items():
        for world, span in spans(pair, modem.PACKET - modem.ACK).items():
            (c,) = span.of("tcp")
            used = 8 * modem.PACKET * c.rate / modem.LINE
            signals = (c.ca + c.non_ca) / max(c.segments, 1)
            rows.append({"loss": loss, "world": world, "utilisation": used, "signals": signals, "rtt": c.rtt})
            notes.append(
                f"{100 * loss:g} % lost, {world}: goodput {100 * used:.1f} %, signals {signals:.4f}, window "
                f"{c.window:.2f}, round-trip time {c.rtt:.3f} s, {c.timeouts} timeouts"
            )
    notes += pairs[LOSSES[0]].notes("no loss")
    least = min(r["utilisation"] for r in rows if r["world"] == KERNEL and r["loss"] <= HARMLESS)
    name = f"goodput over the line's rate with loss up to {100 * HARMLESS:g} %"
    checks = [at_least(name, least, f14.FULL, "at least")]
    figure = measured(
        [
            Measured(f"{what}, {world}", np.array([100 * p for p in LOSSES]), percent(rows, key, world))
            for what, key in (
                ("goodput (% of the line)", "utilisation"),
                ("signals (% of packets)", "signals"),
            )
            for world in (KERNEL, TWIN)
        ],
        title="A modem user of the kernel's TCP, on the kernel and simulated",
        subtitle="Linux reno at 28.8 kbit/s, queue of 5 packets, 400 ms without queue",
        xlabel="loss on the shared link (%)",
        ylabel="goodput, congestion signals (%)",
    )
    return Outcome(checks, {"losses": pa.Table.from_pylist(rows)}, {"modem": figure}, notes)


def percent(rows: list[dict[str, Any]], key: str, world: str) -> np.ndarray:
    """A column in a world, in hundredths."""
    return np.array([100 * r[key] for r in rows if r["world"] == world])


@real_form(
    "M-F15",
    title="The kernel's TCP as the research user's",
    choices={
        **CHOICES,
        "packets": f"{', '.join(map(str, modem.SIZES))} bytes of payload and {lossy.STAMPS} of timestamps",
        "C": f"{f15.C:g}, that of random loss and delayed acks, as in the item; over {f15.C_EVERY:g} beside "
        "it, "
        "since the kernel opens its window by the segments that an ack covers",
        "p": "packets lost on the link over packets sent",
        "duration": f"{FAST_SECONDS:g} s after {WARM:g} s that do not count ({FULL:g} s with --full), one "
        f"seed; {FAST_AT_ONCE} runs side by side",
    },
)
def fast(setting: Setting) -> Outcome:
    """Three sizes of segments, loss from 0.1 to 20 %."""
    seconds = FULL if setting.full else FAST_SECONDS
    scenarios = {
        (mss, loss): timed(
            ac.Scenario.of(
                modem.path(loss),
                ac.Bulk(name=modem.RESEARCH, client="server", server="laboratory"),
                {"tcp": stack(mss + lossy.STAMPS, True)},
                seed=1,
            ),
            seconds,
        )
        for mss in modem.SIZES
        for loss in FAST_LOSSES
    }
    pairs = together(scenarios, setting, "M-F15 real", at_once=FAST_AT_ONCE, recoveries=True)
    rows: list[dict[str, Any]] = []
    for (mss, loss), pair in pairs.items():
        for (world, span), run in zip(spans(pair, mss).items(), (pair.kernel, pair.twin), strict=True):
            (c,) = span.of("tcp")
            there = next(x for x in run.links.to_pylist() if x["name"] == "L")
            p = there["dropped_wire"] / max(there["packets"], 1)
            rows.append(
                {
                    "mss": mss,
                    "loss": loss,
                    "world": world,
                    "p": p,
                    "window": c.window,
                    "bandwidth": 8 * mss * c.rate,
                    "timeouts": c.timeouts,
                }
            )
    kernel = [r for r in rows if r["world"] == KERNEL]
    calm = [r for r in kernel if not r["timeouts"] and r["p"] > 0]
    over = [r["window"] * math.sqrt(r["p"]) / f15.C for r in calm]
    name = "window over C/sqrt(p), runs without timeouts"
    checks = [
        between(name, over, 1 - NEAR, 1 + NEAR) if calm else stated(name, "no run without timeouts", False)
    ]
    notes = [
        f"{r['mss']} bytes, {100 * r['loss']:g} % lost, {r['world']}: {r['bandwidth'] / 1e3:.0f} kbit/s, "
        "window "
        f"{r['window']:.2f}, {r['window'] * math.sqrt(r['p']) / f15.C:.2f} of {f15.C:g}/sqrt(p) and "
        f"{r['window'] * math.sqrt(r['p']) / f15.C_EVERY:.2f} of {f15.C_EVERY:g}/sqrt(p), {r['timeouts']} "
        "timeouts"
        for r in rows
    ]
    notes += pairs[modem.SIZES[0], FAST_LOSSES[0]].notes("536 bytes, 0.1 % lost")
    table = {"losses": pa.Table.from_pylist(rows)}
    return Outcome(checks, table, {"research": picture(rows)}, notes)


def picture(rows: list[dict[str, Any]]) -> Any:
    """Windows against p."""
    fig, axes = scatter.figure(
        "A research user of the kernel's TCP, on the kernel and simulated",
        "Linux reno, 100 ms, by segment size; open markers: runs with timeouts; lines: simulated",
        "p: packets lost over packets sent",
        "BW RTT/MSS (packets)",
    )
    shown = [r for r in rows if r["p"] > 0]
    p = [r["p"] for r in shown]
    scatter.power_law(axes, p, f15.C_EVERY, -0.5, f"C = {f15.C_EVERY:g}", linestyle=(0, (5, 2)))
    scatter.power_law(axes, p, f15.C, -0.5, f"C = {f15.C:g}", linestyle=(0, (1, 1.5)))
    for i, mss in enumerate(modem.SIZES):
        mine, twin = ([r for r in shown if (r["mss"], r["world"]) == (mss, w)] for w in (KERNEL, TWIN))
        columns = ([r[key] for r in mine] for key in ("p", "window", "timeouts"))
        scatter.points(axes, i, f"{mss} bytes, kernel", *columns)
        twin.sort(key=lambda r: r["p"])
        axes.plot([r["p"] for r in twin], [r["window"] for r in twin], color=style.COLOURS[i], linewidth=1.1)
    axes.legend(loc="best", fontsize=9)
    return fig
