from __future__ import annotations

import tempfile
from pathlib import Path
from typing import Any

import pyarrow as pa

from ackclock.reproduce.item import Outcome, Setting, item, within
from ackclock.reproduce.mathis97 import captured, probes, scatter
from ackclock.reproduce.real import between_kernels
from ackclock.results import read_capture

C = 1.5**0.5
"""Of equation (3): periodic losses, and a window that opens by a segment a round trip."""
MSS = 1448
"""Payload beside timestamps, MTU 1500."""
RTT = 10
"""ms."""
SECONDS = {0.001: 6.0, 0.003: 3.5, 0.01: 2.5}
SECONDS_FULL = 100.0
"""As the paper's transfers."""
FIRST = 60
"""The packet whose loss ends the initial slow-start, so that it hardly counts."""
RULE = "reno"


@item(
    "M-F10",
    kind="REAL, CAP",
    title="A real TCP against the model",
    choices={
        "sender": "the Linux kernel's TCP with its rule `reno`, all else at its defaults: SACK, timestamps, "
        "RACK, tail loss probes. It opens its window by the segments that an ack covers, so that "
        "delayed acks do not slow it (RFC 3465)",
        "path": f"between two kernels in namespaces over the emulator, {RTT} ms, no queue; every 1/p-th "
        f"packet lost, and packet {FIRST} before, to end the initial slow-start",
        "length": f"{', '.join(f'{s:g} s at p = {p:g}' for p, s in SECONDS.items())}; with --full "
        f"{SECONDS_FULL:g} s each, as the paper's",
        "p": "CA events per acknowledged packet, as the trace instruments (M-U4) find them in a capture at "
        "the sender",
        "window": "payload acknowledged in the connection's time, times the mean round-trip time of the "
        "capture",
    },
)
def reproduce(setting: Setting) -> Outcome:
    """What a capture of the kernel's TCP shows, against equation (3)."""
    setting.progress(0.0, "M-F10, real packets")
    rows = transfers(SECONDS_FULL if setting.full else None)
    if isinstance(rows, str):
        return Outcome([], skipped=rows)
    checks = [
        within(
            f"every {1 / r['injected']:.0f}th packet lost: window (packets)",
            r["window"],
            r["model"],
            0.25 * r["model"],
        )
        for r in rows
    ]
    notes = [described(r) for r in rows]
    return Outcome(checks, {"transfers": pa.Table.from_pylist(rows)}, {"windows": figure(rows)}, notes)


def transfers(seconds: float | None) -> list[dict[str, Any]] | str:
    """A row for each loss, or what is missing for real packets."""
    with tempfile.TemporaryDirectory() as folder:
        runs = [
            {
                "path": probes.path(
                    f"{RTT / 2}ms", {"kind": "periodic-loss", "every": round(1 / p), "first": FIRST}
                ),
                "seconds": seconds or length,
                "parameters": {"net.ipv4.tcp_congestion_control": RULE},
                "capture": f"{folder}/{i}.pcapng",
            }
            for i, (p, length) in enumerate(SECONDS.items())
        ]
        counted = between_kernels(runs)
        if isinstance(counted, str):
            return counted
        return [row(p, run, c) for p, run, c in zip(SECONDS, runs, counted, strict=True)]


def row(injected: float, run: dict[str, Any], counted: dict[str, Any]) -> dict[str, Any]:
    """A transfer: what its capture shows, and what the kernel counted."""
    capture = read_capture(Path(run["capture"]), samples=False)
    connection, found = capture.connections[0], captured.sender(capture)
    window = found["bytes_acked"] / connection["duration"] * found["rtt"]["mean"] / MSS
    return {
        "injected": injected,
        "p": found["p"],
        "rtt": found["rtt"]["mean"],
        "window": window,
        "model": C / found["p"] ** 0.5,
        **{
            name: found[name]
            for name in (
                "ca_events",
                "non_ca_events",
                "other_losses",
                "packets_acked",
                "retransmitted_packets",
            )
        },
        "timeouts": len(found["timeouts"]),
        "kernel_retransmitted": counted["retransmitted"],
        "kernel_timeouts": counted["timeouts"],
    }


def described(r: dict[str, Any]) -> str:
    """A transfer in a line."""
    return (
        f"every {1 / r['injected']:.0f}th packet lost: p {r['p']:.4g}, round trip {1e3 * r['rtt']:.2f} "
        f"ms, window sqrt(p) {r['window'] * r['p'] ** 0.5:.3f}; CA {r['ca_events']}, non-CA "
        f"{r['non_ca_events']}, other {r['other_losses']}, timeouts {r['timeouts']}; retransmitted "
        f"{r['retransmitted_packets']} by the capture, {r['kernel_retransmitted']} by the kernel's "
        "count"
    )


def figure(rows: list[dict[str, Any]]) -> Any:
    """Windows against p."""
    fig, axes = scatter.figure(
        "A real TCP against the model",
        f"Linux, {RULE.capitalize()}, {RTT} ms, periodic loss, no queue; open markers: runs with timeouts",
    )
    scatter.points(axes, 0, "transfers", *([r[name] for r in rows] for name in ("p", "window", "timeouts")))
    scatter.power_law(axes, [r["p"] for r in rows], C, -0.5, "equation (3), C = 1.22")
    axes.legend(loc="upper right", fontsize=9)
    return fig
