from __future__ import annotations

from typing import Any

import numpy as np
import pyarrow as pa

from ackclock.reproduce.item import Check, Outcome, Setting, item, within
from ackclock.reproduce.mathis97 import probes, scatter
from ackclock.reproduce.real import LEFT_OUT
from ackclock.scenario import variation

C = 0.9
"""Of the register's check."""
INJECTED = (0.001, 0.003, 0.01)
"""Loss up to which the check goes."""
RTTS = (20, 100)
"""ms, of the simulated checks."""
SIGNALS, SIGNALS_FULL = 1000, 4000
"""Losses in each of them, on average."""
RUNS, RUNS_FULL = 80, 400
SECONDS = 60.0
"""Of a run of the scatter, as the paper's."""
REAL_RTT = 8
"""ms."""
REAL_SECONDS = {0.001: 6.0, 0.003: 3.0, 0.01: 2.0}
"""By loss, in the quick form."""
EVEN, RANDOM = "every 1/p-th", "random"
"""What is lost."""


@item(
    "M-F9",
    kind="SIM, REAL",
    title="TReno against the model",
    choices={
        "recovery": "FACK-RH (M-A8), as in the paper",
        "path": "instead of two hosts of 1997: loss on the way there, the same delay both ways, no queue",
        "loss": "every 1/p-th packet, each a signal of its own, and random loss, where those that share a "
        "round trip are one signal together",
        "simulated checks": f"loss of {', '.join(map(str, INJECTED))}, round trips of "
        f"{' and '.join(map(str, RTTS))} ms, as long as {SIGNALS} losses take "
        f"({SIGNALS_FULL} with --full), the first twentieth left out",
        "scatter": f"{RUNS} runs of {SECONDS:g} s ({RUNS_FULL} with --full), random loss log-uniform in "
        "0.0002 to 0.2, round trips log-uniform in 30 to 300 ms",
        "real packets": f"ICMP echo between two kernels in namespaces over the emulator, {REAL_RTT} ms, "
        f"every 1/p-th packet lost, {' s, '.join(f'{t:g}' for t in REAL_SECONDS.values())} "
        f"s; with --full {SECONDS:g} s each, and the same with random loss",
        "p": "CA events per acknowledged segment (M-U1), the initial slow start left out",
        "window": "capacity times the mean of the connection's round-trip time samples, which delayed acks "
        "lengthen a little",
    },
)
def reproduce(setting: Setting) -> Outcome:
    """Loss and delay as injected against those found, and windows against p as the paper draws them."""
    setting.progress(0.0, "M-F9, simulated")
    known = simulated_checks(SIGNALS_FULL if setting.full else SIGNALS)
    runs = scattered(RUNS_FULL if setting.full else RUNS, setting)
    setting.progress(0.4, "M-F9, real packets")
    real, missing = over_packets(setting.full)
    checks = [c for r in known + real for c in judged(r)]
    notes = []
    if missing:
        notes.append(f"{LEFT_OUT}: {missing}")
    notes += [described(r) for r in known + real]
    rows = [*known, *runs, *real]
    columns = {name: [r[name] for r in rows] for name in rows[0]}
    return Outcome(checks, {"runs": pa.table(columns)}, {"windows": figure(runs, real)}, notes)


def simulated_checks(signals: int) -> list[dict[str, Any]]:
    """Long runs over known paths."""
    rows = []
    for loss in (EVEN, RANDOM):
        for p in INJECTED:
            for rtt in RTTS:
                seconds = signals / p * rtt * 1e-3 / (C / p**0.5)
                found = probes.simulated(
                    probes.path(f"{rtt / 2}ms", fault(loss, p)), probes.settings(seconds, warmup=seconds / 20)
                )
                rows.append(row("simulated", loss, p, rtt * 1e-3, found))
    return rows


def fault(loss: str, p: float) -> dict[str, Any]:
    """The link's fault."""
    return {"kind": "loss", "p": p} if loss == RANDOM else {"kind": "periodic-loss", "every": round(1 / p)}


def scattered(count: int, setting: Setting) -> list[dict[str, Any]]:
    """Runs of a minute over paths drawn at random."""
    rng = np.random.default_rng(variation.seed(1997))
    rows = []
    for i in range(count):
        p, rtt = (
            10 ** rng.uniform(np.log10(2e-4), np.log10(0.2)),
            10 ** rng.uniform(np.log10(0.03), np.log10(0.3)),
        )
        path = probes.path(f"{rtt / 2 * 1e6:.0f}us", fault(RANDOM, p), seed=variation.seed(i + 1))
        found = probes.simulated(path, probes.settings(SECONDS))
        if found["p"]:
            rows.append(row("scatter", RANDOM, p, rtt, found))
        setting.progress(0.1 + 0.3 * i / count, "M-F9, simulated")
    return rows


def over_packets(full: bool) -> tuple[list[dict[str, Any]], str | None]:
    """Runs between two kernels, or what is missing for them."""
    wanted = [(loss, p) for loss in ((EVEN, RANDOM) if full else (EVEN,)) for p in INJECTED]
    runs = []
    for loss, p in wanted:
        seconds = SECONDS if full else REAL_SECONDS[p]
        path = probes.path(f"{REAL_RTT / 2}ms", fault(loss, p))
        runs.append({"path": path, "settings": probes.settings(seconds, warmup=seconds / 10, max_rate=1e8)})
    found = probes.emulated(runs)
    if isinstance(found, str):
        return [], found
    return [
        row("real packets", loss, p, REAL_RTT * 1e-3, f) for (loss, p), f in zip(wanted, found, strict=True)
    ], None


def row(world: str, loss: str, p: float, rtt: float, found: dict[str, Any]) -> dict[str, Any]:
    """A run as a row: what was injected, and what was found."""
    return {
        "world": world,
        "loss": loss,
        "injected": p,
        "injected_rtt": rtt,
        "p": found["p"],
        "lost": found["loss"],
        "rtt": found["rtt"]["mean"],
        "window": found["window"],
        "capacity": found["capacity"],
        **{name: found[name] for name in ("ca_events", "non_ca_events", "other_losses", "timeouts")},
        "mathis": found["model"]["mathis"]["ratio"],
        "pftk": found["model"]["pftk"]["ratio"],
    }


def judged(r: dict[str, Any]) -> list[Check]:
    """The register's check of a path that is known."""
    p, rtt = r["injected"], r["injected_rtt"]
    where = f"{r['world']}, {r['loss']} lost, {p:g}, {rtt * 1e3:g} ms"
    wanted = C / p**0.5
    return [
        within(f"{where}: p", r["p"], p, 0.1 * p),
        within(f"{where}: round trip (s)", r["rtt"], rtt, 0.1 * rtt),
        within(f"{where}: window (packets)", r["window"], wanted, 0.2 * wanted),
    ]


def described(r: dict[str, Any]) -> str:
    """A run in a line."""
    return (
        f"{r['world']}, {r['loss']} lost, {r['injected']:g} over {r['injected_rtt'] * 1e3:g} ms: p "
        f"{r['p']:.4g}, lost {r['lost']:.4g}, round trip {r['rtt'] * 1e3:.2f} ms, window sqrt(p) "
        f"{r['window'] * r['p'] ** 0.5:.3f}; CA {r['ca_events']}, non-CA {r['non_ca_events']}, other "
        f"{r['other_losses']}; found/model: Mathis {r['mathis']:.2f}, PFTK {r['pftk']:.2f}"
    )


def figure(runs: list[dict[str, Any]], real: list[dict[str, Any]]) -> Any:
    """Windows against p; runs with timeouts get open markers."""
    fig, axes = scatter.figure(
        "TReno against the model",
        f"{len(runs)} probes of {SECONDS:g} s, random loss, no queue; open markers: runs with timeouts",
    )
    for i, (label, rows) in enumerate((("simulated paths", runs), ("real packets, emulated path", real))):
        if rows:
            scatter.points(axes, i, label, *([r[name] for r in rows] for name in ("p", "window", "timeouts")))
    scatter.power_law(axes, [r["p"] for r in runs], C, -0.5, f"{C}/sqrt(p)")
    axes.legend(loc="upper right", fontsize=9)
    return fig
