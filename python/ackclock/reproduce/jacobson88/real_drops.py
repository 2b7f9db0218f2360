"""Real form of J-N6: drop rate and window of the engine in real time, and of the kernel's `reno`."""

from __future__ import annotations

import tempfile
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa

import ackclock as ac
from ackclock.plot import style
from ackclock.reproduce import real_flows
from ackclock.reproduce.item import Outcome, Setting, between
from ackclock.reproduce.jacobson88 import n6_drop_rate as n6
from ackclock.reproduce.jacobson88 import senders
from ackclock.reproduce.real_flows import ENGINE, Wanted
from ackclock.reproduce.real_form import KERNEL, TWIN, Pair, real_form, together
from ackclock.results import Run, read_capture
from ackclock.results.trace import Trace

SECONDS, FULL = 150.0, 600.0
WARM = 40.0
"""Seconds with slow-start that are not counted on the kernel."""
THRESHOLD = 8
"""Packets at which the engine's first slow-start ends: its overshoot would be a tenth of all drops."""
ENGINE_TCP, LINUX = "engine", "Linux reno"
REAL = "real time"
WITHIN = 0.25
SAMPLED = 0.1
"""Seconds between two looks at a window."""
PROMINENT = 0.25
"""How far a peak of the window stands out, as a part of the largest."""


def linux() -> ac.Stack:
    """The kernel with the paper's packets, and its twin."""
    return ac.Stack(
        "linux-reno",
        recovery=ac.recovery.Rack(linux=True, tlp=False),
        mss=f"{senders.DATA}B",
        timestamps=False,
        kernel={
            "cc": "reno",
            "sysctl": {"net.ipv4.tcp_timestamps": "0", "net.ipv4.tcp_early_retrans": "0"},
        },
    )


def engine() -> ac.Stack:
    """The engine's new TCP."""
    window = senders.slow_start(initial_ssthresh=f"{THRESHOLD * senders.DATA}B")
    return senders.new(64, recovery="timeout-only", window=window)


def scenario(buffer: int, stack: ac.Stack, seconds: float, **more: Any) -> ac.Scenario:
    """One connection over a buffer of so many packets."""
    path = ac.Single(senders.line(n6.RATE, n6.DELAY, buffer))
    times = {"duration": f"{seconds:g}s", "series": f"{1e3 * SAMPLED:g}ms", **more}
    return ac.Scenario.of(path, ac.Bulk(flows=1), {"tcp": stack}, seed=1, **times)


def peaks(window: np.ndarray) -> np.ndarray:
    """The windows at which it is reduced, from what it was at each moment."""
    from scipy.signal import find_peaks

    at, _ = find_peaks(window, prominence=PROMINENT * window.max())
    return window[at]


def of_run(run: Run, warm: float) -> dict[str, float]:
    """Drops, and the mean peak of the window, of a run with `series`."""
    table = run.traces["flow_series"]
    time, cwnd = table["time"].to_numpy(), table["cwnd"].to_numpy().astype(float) / senders.DATA
    link = next(x for x in run.links.to_pylist() if x["name"] == "link")
    tops = peaks(cwnd[(time > warm) & np.isfinite(cwnd)])
    return {
        "peak": float(tops.mean()),
        "cycles": len(tops),
        "p": link["dropped_queue"] / link["packets_offered"],
    }


def of_capture(path: Path, lost: float) -> dict[str, float]:
    """The same of the engine in real time: its window is what it has outstanding."""
    packets = read_capture(path, samples=False, packets=True).packets
    time, flight = Trace.of_packets(packets, 0).flight()
    moments = np.arange(0.0, time[-1], SAMPLED)
    at = np.searchsorted(time, moments, "right") - 1
    tops = peaks(flight[at][moments > WARM] / senders.DATA)
    return {"peak": float(tops.mean()), "cycles": len(tops), "p": lost}


@real_form(
    "J-N6",
    title="Drop rate and window of the engine in real time and of the kernel",
    choices={
        "engine": "the new TCP of the item sends in real time, and a kernel acknowledges each packet at once "
        f"(TCP_QUICKACK after every read); its first slow-start ends at {THRESHOLD} packets, since the "
        "overshoot would be a tenth of all drops in this time",
        "kernel": "`reno` with packets of 552 bytes, SACK and RACK, no timestamps, no tail loss probes, "
        f"delayed acks; its first {WARM:g} s are not counted",
        "path": f"{n6.RATE / 1e3:g} kbit/s, {1e3 * n6.DELAY:g} ms one way: a pipe of 5 packets; buffers of "
        f"{', '.join(map(str, n6.BUFFERS))} packets",
        "window": f"as of every {1e3 * SAMPLED:g} ms; the engine's in real time is what it has outstanding "
        "in a "
        "capture at its end",
        "duration": f"{SECONDS:g} s ({FULL:g} s with --full), one connection each, all side by side",
        "twin": "the same scenarios simulated; the kernel's with the preset `linux-reno`",
    },
)
def drops(setting: Setting) -> Outcome:
    """Additive increase against a drop-tail buffer."""
    seconds = FULL if setting.full else SECONDS
    rows: list[dict[str, Any]] = []
    notes: list[str] = []
    with tempfile.TemporaryDirectory() as folder:
        wanted = {
            b: Wanted(
                scenario(b, engine(), seconds), (ENGINE, "kernel"), {}, True, Path(folder) / f"{b}.pcapng"
            )
            for b in n6.BUFFERS
        }
        for b, found in real_flows.beside(wanted, setting, "J-N6 real", share=(0.0, 0.5)).items():
            capture = wanted[b].capture
            assert capture is not None
            rows.append({"tcp": ENGINE_TCP, "world": REAL, "buffer": b, **of_capture(capture, found.lost)})
            rows.append({"tcp": ENGINE_TCP, "world": TWIN, "buffer": b, **of_run(found.twin, WARM)})
            notes += found.notes(f"engine, buffer {b}")
    counted = {"measure_from": f"{WARM:g}s"}
    scenarios = {b: scenario(b, linux(), seconds, **counted) for b in n6.BUFFERS}
    pairs: dict[int, Pair] = together(scenarios, setting, "J-N6 real", share=(0.5, 1.0))
    for b, pair in pairs.items():
        for world, run in ((KERNEL, pair.kernel), (TWIN, pair.twin)):
            rows.append({"tcp": LINUX, "world": world, "buffer": b, **of_run(run, WARM)})
        notes += pair.notes(f"Linux, buffer {b}")
    for r in rows:
        r["ratio"] = r["p"] / (8 / (3 * r["peak"] ** 2))
    checks = [
        between(
            f"{tcp}: drops per packet over 8/(3 w^2) of the measured peak w",
            [r["ratio"] for r in rows if (r["tcp"], r["world"]) == (tcp, world)],
            1 - WITHIN,
            1 + WITHIN,
        )
        for tcp, world in ((ENGINE_TCP, REAL), (LINUX, KERNEL))
    ]
    lines = [
        f"{r['tcp']}, {r['world']}, buffer {r['buffer']}: peak {r['peak']:.2f} in {r['cycles']} cycles, "
        "drops "
        f"{100 * r['p']:.2f} %, ratio {r['ratio']:.2f}"
        for r in rows
    ]
    return Outcome(checks, {"cycles": pa.Table.from_pylist(rows)}, {"drops": picture(rows)}, lines + notes)


def picture(rows: list[dict[str, Any]]) -> Any:
    """Drops against the peak of the window in both worlds."""
    fig, axes = style.figure(
        "Drop rate and window in real time and simulated",
        f"One connection, pipe of 5 packets, drop-tail buffers of {n6.BUFFERS[0]} to {n6.BUFFERS[-1]} "
        "packets; "
        "open: simulated",
    )
    tops = [r["peak"] for r in rows]
    w = np.linspace(0.9 * min(tops), 1.1 * max(tops), 100)
    axes.plot(w, 800 / (3 * w**2), label="8/(3 w²)", **style.line(0))
    low, high = 100 * (1 - WITHIN) * 8 / (3 * w**2), 100 * (1 + WITHIN) * 8 / (3 * w**2)
    axes.fill_between(
        w, low, high, color=style.COLOURS[0], alpha=0.12, linewidth=0, label=f"within {100 * WITHIN:.0f} %"
    )
    for i, tcp in enumerate((ENGINE_TCP, LINUX), start=1):
        for world in (REAL, KERNEL, TWIN):
            mine = [r for r in rows if (r["tcp"], r["world"]) == (tcp, world)]
            if mine:
                axes.plot(
                    [r["peak"] for r in mine],
                    [100 * r["p"] for r in mine],
                    "os"[i - 1],
                    color=style.COLOURS[i],
                    fillstyle="none" if world == TWIN else "full",
                    label=f"{tcp}, {world}",
                )
    axes.set(xlabel="peak of the window w (packets)", ylabel="drops per packet (%)", ylim=(0, None))
    axes.grid(True)
    axes.legend(loc="upper right")
    return fig
