from __future__ import annotations

from typing import Any

import numpy as np
import pyarrow as pa

from ackclock.reproduce.item import Check, Outcome, Setting, item, within
from ackclock.reproduce.mathis97 import probes, scatter
from ackclock.results import probe

C = 0.9
"""Of the register's check."""
INJECTED = (0.001, 0.003, 0.01)
"""Loss up to which the check goes."""
RTTS = (20, 100)
"""ms, of the simulated checks."""
SIGNALS, SIGNALS_FULL = 1500, 6000
"""Losses in each of them, on average."""
RUNS, RUNS_FULL = 80, 400
SECONDS = 60.0
"""Of a run of the scatter, as the paper's."""
REAL_RTT = 8
"""ms."""
REAL_SECONDS = {0.001: 6.0, 0.003: 3.0, 0.01: 2.0}
"""By loss, in the quick form."""


@item(
    "M-F9",
    kind="SIM, REAL",
    title="TReno against the model",
    choices={
        "recovery": "FACK-RH (M-A8) where this version has it, otherwise SACK; printed below",
        "path": "instead of two hosts of 1997: loss on the way there, the same delay both ways, no queue",
        "simulated checks": f"random loss of {', '.join(map(str, INJECTED))}, round trips of {' and '.join(map(str, RTTS))} ms, as long as "
        f"{SIGNALS} losses take ({SIGNALS_FULL} with --full)",
        "scatter": f"{RUNS} runs of {SECONDS:g} s ({RUNS_FULL} with --full), loss log-uniform in 0.0002 to 0.2, round trips log-uniform in 30 to 300 ms",
        "real packets": f"ICMP echo between two kernels in namespaces over the emulator, {REAL_RTT} ms; every 1/p-th packet is lost, so that a run of a "
        "few seconds has a known p; with --full 60 s each and random loss, p compared with the share that the emulator lost",
        "p": "CA events per acknowledged segment (M-U1), the initial slow start left out",
        "window": "capacity times the mean of the connection's round-trip time samples, which delayed acks lengthen a little",
    },
)
def reproduce(setting: Setting) -> Outcome:
    """Loss and delay as injected against those found, and windows against p as the paper draws them."""
    setting.progress(0.0, "M-F9, simulated")
    known = simulated_checks(SIGNALS_FULL if setting.full else SIGNALS)
    checks = [c for row in known for c in judged(row)]
    runs = scattered(RUNS_FULL if setting.full else RUNS, setting)
    setting.progress(0.6, "M-F9, real packets")
    real, missing = over_packets(setting.full)
    checks += [c for row in real for c in judged(row)]
    notes = [f"recovery: {probe.default_stack()}"]
    if missing:
        notes.append(f"Real packets left out, neither passed nor failed: {missing}")
    for row in known + real:
        notes.append(
            f"{row['world']}, {row['injected']:.4g} over {row['injected_rtt'] * 1e3:g} ms: p {row['p']:.4g}, round trip {row['rtt'] * 1e3:.2f} ms, window "
            f"{row['window']:.1f}, window sqrt(p) {row['window'] * row['p'] ** 0.5:.3f}; CA {row['ca_events']}, non-CA {row['non_ca_events']}, "
            f"other {row['other_losses']}; found/model: Mathis {row['mathis']:.2f}, PFTK {row['pftk']:.2f}"
        )
    rows = [*known, *runs, *real]
    columns = {name: [row[name] for row in rows] for name in rows[0]}
    return Outcome(checks, {"runs": pa.table(columns)}, {"windows": figure(runs, real)}, notes)


def simulated_checks(signals: int) -> list[dict[str, Any]]:
    """Long runs over known paths."""
    rows = []
    for p in INJECTED:
        for rtt in RTTS:
            seconds = signals / p * rtt * 1e-3 / (C / p**0.5)
            fault = {"kind": "loss", "p": p}
            found = probes.simulated(probes.path(f"{rtt / 2}ms", fault), probes.settings(seconds, warmup=seconds / 20))
            rows.append(row("simulated", p, rtt * 1e-3, found))
    return rows


def scattered(count: int, setting: Setting) -> list[dict[str, Any]]:
    """Runs of a minute over paths drawn at random."""
    rng = np.random.default_rng(1997)
    rows = []
    for i in range(count):
        p, rtt = 10 ** rng.uniform(np.log10(2e-4), np.log10(0.2)), 10 ** rng.uniform(np.log10(0.03), np.log10(0.3))
        path = probes.path(f"{rtt / 2 * 1e6:.0f}us", {"kind": "loss", "p": p}, seed=i + 1)
        found = probes.simulated(path, probes.settings(SECONDS))
        if found["p"]:
            rows.append(row("scatter", p, rtt, found))
        setting.progress(0.1 + 0.5 * i / count, "M-F9, simulated")
    return rows


def over_packets(full: bool) -> tuple[list[dict[str, Any]], str | None]:
    """Runs between two kernels, or what is missing for them."""
    runs = []
    for p, seconds in REAL_SECONDS.items():
        fault = {"kind": "loss", "p": p} if full else {"kind": "periodic-loss", "every": round(1 / p)}
        seconds = SECONDS if full else seconds
        runs.append({"path": probes.path(f"{REAL_RTT / 2}ms", fault), "settings": probes.settings(seconds, warmup=seconds / 10, max_rate=1e8)})
    found = probes.emulated(runs)
    if isinstance(found, str):
        return [], found
    rows = []
    for p, f in zip(REAL_SECONDS, found, strict=True):
        there = f["path"]["forward"]
        rows.append(row("real packets", there["dropped_wire"] / there["served"] if full else p, REAL_RTT * 1e-3, f))
    return rows, None


def row(world: str, p: float, rtt: float, found: dict[str, Any]) -> dict[str, Any]:
    """A run as a row: what was injected, and what was found."""
    model = found["model"]
    return {
        "world": world,
        "injected": p,
        "injected_rtt": rtt,
        "p": found["p"],
        "rtt": found["rtt"]["mean"],
        "loss": found["loss"],
        "window": found["window"],
        "capacity": found["capacity"],
        **{name: found[name] for name in ("ca_events", "non_ca_events", "other_losses", "timeouts")},
        "mathis": model["mathis"]["ratio"],
        "pftk": model["pftk"]["ratio"],
    }


def judged(r: dict[str, Any]) -> list[Check]:
    """The register's check of a path that is known."""
    where = f"{r['world']}, loss {r['injected']:.3g}, {r['injected_rtt'] * 1e3:g} ms"
    wanted = C / r["injected"] ** 0.5
    return [
        within(f"{where}: p", r["p"], r["injected"], 0.1 * r["injected"]),
        within(f"{where}: round trip (s)", r["rtt"], r["injected_rtt"], 0.1 * r["injected_rtt"]),
        within(f"{where}: window (packets)", r["window"], wanted, 0.2 * wanted),
    ]


def figure(runs: list[dict[str, Any]], real: list[dict[str, Any]]) -> Any:
    """Windows against p; runs with timeouts get open markers."""
    fig, axes = scatter.figure("TReno against the model", f"{len(runs)} probes of {SECONDS:g} s, random loss, no queue; open markers: runs with timeouts")
    for i, (label, rows) in enumerate((("simulated paths", runs), ("real packets, emulated path", real))):
        if rows:
            scatter.points(axes, i, label, *([r[name] for r in rows] for name in ("p", "window", "timeouts")))
    scatter.power_law(axes, [r["p"] for r in runs], C, -0.5, f"{C}/sqrt(p)")
    axes.legend(loc="upper right", fontsize=9)
    return fig
