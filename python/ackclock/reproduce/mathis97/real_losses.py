"""Real forms of M-F4 and of table 4: the kernel's `reno` over a link that loses at random, with SACK and
without, and with receivers that delay acks or acknowledge at once.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import numpy as np
import pyarrow as pa
from matplotlib.figure import Figure

import ackclock as ac
from ackclock.plot import style
from ackclock.reproduce import real_flows
from ackclock.reproduce.item import Check, Outcome, Setting, between, stated, within
from ackclock.reproduce.mathis97 import lossy, scatter, ten
from ackclock.reproduce.real_flows import Beside, Wanted
from ackclock.reproduce.real_form import KERNEL, TWIN, real_form, together
from ackclock.results import Run
from ackclock.scenario import variation

ONE_WAY = 0.03
"""Seconds."""
MSS = 1460
PAYLOAD = MSS - lossy.STAMPS
LOSSES = (*lossy.grid(1e-4, 0.1, 10), 0.033)
"""The register's ten, and one more for the shares."""
WARM, SECONDS, FULL = 10.0, 50.0, 100.0
SMALL = 0.01
"""Losses up to which the model is checked."""
NEAR, NEAR_RATIO = 0.25, 0.12
ROOM = 8
"""Mean windows that the receiver's window holds, so that the initial slow-start ends."""
ROWS = {
    "SACK": (True, True),
    "NewReno": (False, True),
    "SACK DA": (True, False),
    "NewReno DA": (False, False),
}
"""Rows of table 4: with SACK, and with an ack for each packet."""
SYSCTL = {"net.ipv4.tcp_early_retrans": "0", "net.ipv4.tcp_no_metrics_save": "1"}

CHOICES = {
    "kernel": "`reno` without tail loss probes; RACK finds losses where SACK is on. It opens its window by "
    "the segments that an ack covers (RFC 3465), so that delayed acks do not slow it",
    "path": f"{2e3 * ONE_WAY:g} ms, twice the register's, for half the packets a second; no queue, each "
    f"data packet lost by itself; segments of {MSS} bytes, "
    f"{lossy.STAMPS} of them timestamps",
    "losses": f"{', '.join(f'{p:g}' for p in sorted(LOSSES))}: the register's ten and one more for the "
    "shares",
    "receiver": f"its window holds {ROOM} mean windows (tcp_rmem), which ends the initial slow-start",
    "delayed acks": "the kernel's: every second segment or 40 ms; the first 16, which it acknowledges at "
    f"once, are not counted, nor is anything of the first {WARM:g} s",
    "an ack per packet": "TCP_QUICKACK renewed after every read; acks per packet are in the notes. These "
    "runs count from their beginning, of which the slow-start is a small part; round-trip time: the link's "
    "and the emulator's mean lateness, since a kernel's samples are not told here",
    "shares": "entries into recovery over these and timeouts; those of single runs",
    "duration": f"{SECONDS:g} s each ({FULL:g} s with --full), one seed; all losses side by side",
    "twin": "the preset `linux-reno` without probes, NewReno's recovery without SACK",
}


def mean_window(p: float) -> float:
    """About what the kernel's window will be, packets."""
    return max(4.0, lossy.CONSTANT["every"] / math.sqrt(p))


def stack(p: float, sack: bool, quick: bool) -> ac.Stack:
    """A kernel whose receiver has room for `ROOM` windows, and its twin."""
    room = int(ROOM * mean_window(p) + 64) * PAYLOAD
    # Half of the buffer, or a little more, is announced as the window.
    sysctl = {**SYSCTL, "net.ipv4.tcp_rmem": f"4096 {min(131_072, 2 * room)} {2 * room}"}
    twin = ac.Stack(
        "linux-reno",
        recovery=ac.recovery.Rack(linux=True, tlp=False) if sack else "newreno",
        mss=f"{MSS}B",
        rcv_buf=f"{room}B",
        sack=sack,
        kernel={"cc": "reno", "sysctl": sysctl if sack else {**sysctl, "net.ipv4.tcp_sack": "0"}},
    )
    return twin.but(ack="every") if quick else twin


def link(p: float) -> ac.Link:
    """The link that loses."""
    loss = [ac.fault.Loss(p=p, of="data")]
    wide = ac.DropTail(limit="1000000packets")
    return ac.Link("1Gbit/s", f"{1e3 * ONE_WAY:g}ms", queue=wide, faults=loss)


def star(sack: bool, seconds: float) -> ac.Scenario:
    """All losses in one run, from one server over a link each, with delayed acks."""
    names = {p: f"p {p:g}" for p in LOSSES}
    wide = ac.DropTail(limit="1000000packets")
    back = ac.Link("1Gbit/s", f"{1e3 * ONE_WAY:g}ms", queue=wide)
    edges = [ac.Edge("S", name, link(p), name=name, back=back) for p, name in names.items()]
    flows = [ac.Bulk(name=name, client="S", server=name, stack=name) for name in names.values()]
    stacks = {name: stack(p, sack, False) for p, name in names.items()}
    times = {"duration": f"{WARM + seconds:g}s", "measure_from": f"{WARM:g}s"}
    return ac.Scenario.of(ac.Graph(edges), flows, stacks, seed=1, **times)


def single(p: float, sack: bool, seconds: float) -> Wanted:
    """One loss, an ack for each packet."""
    kernel = stack(p, sack, True)
    path = ac.Single(link(p), rtt="links")
    scenario = ac.Scenario.of(path, ac.Bulk(), {"tcp": kernel}, seed=1, duration=f"{seconds:g}s")
    given = kernel.given["kernel"]
    parameters = {"net.ipv4.tcp_congestion_control": given["cc"], **given["sysctl"]}
    return Wanted(scenario, parameters=parameters, quick_acks=True)


def of_star(row: str, world: str, run: Run) -> list[dict[str, Any]]:
    """A row for each loss of a run with delayed acks."""
    links = {x["name"]: x for x in run.links.to_pylist()}
    found = []
    for f in run.flows.to_pylist():
        there = links[f["group"]]
        rate = f["bytes_acked"] / PAYLOAD / there["observed"]
        rtt = f["rtt_mean"] or math.nan
        found.append(
            {
                "row": row,
                "world": world,
                "loss": float(f["group"].split()[1]),
                "p": there["dropped_wire"] / max(there["packets"], 1),
                "window": rate * rtt,
                "rtt": rtt,
                "timeouts": f["timeouts"],
                "recoveries": f["fast_recoveries"],
                "acks": links[f"{f['group']}.back"]["packets"] / max(there["packets"], 1),
            }
        )
    return found


def of_single(row: str, p: float, found: Beside) -> list[dict[str, Any]]:
    """The same of one run with an ack for each packet, in both worlds."""
    (f,), path = found.flows, found.real["path"]
    rtt = 2 * (ONE_WAY + path["mean_lateness"])
    recoveries = found.counter("TCPSackRecovery", "TCPRenoRecovery")
    kernel = {
        "row": row,
        "world": KERNEL,
        "loss": p,
        "p": found.lost,
        "window": f["bytes_acked"] / PAYLOAD / found.real["seconds"] * rtt,
        "rtt": rtt,
        "timeouts": f["timeouts"],
        "recoveries": recoveries,
        "acks": path["backward"]["served"] / max(path["forward"]["served"], 1),
    }
    (t,), links = found.twin.flows.to_pylist(), found.twin.links.to_pylist()
    there, back = links[0], links[1]
    twin = {
        "row": row,
        "world": TWIN,
        "loss": p,
        "p": there["dropped_wire"] / max(there["packets"], 1),
        "window": t["bytes_acked"] / PAYLOAD / there["observed"] * t["rtt_mean"],
        "rtt": t["rtt_mean"],
        "timeouts": t["timeouts"],
        "recoveries": t["fast_recoveries"],
        "acks": back["packets"] / max(there["packets"], 1),
    }
    return [kernel, twin]


def measured(setting: Setting) -> tuple[list[dict[str, Any]], list[str]]:
    """All four rows in both worlds, and how well time was kept. What one form has run another need not run
    again.
    """
    seconds = FULL if setting.full else SECONDS
    return variation.once(("M-F4 real", seconds), lambda: run(seconds, setting))


def run(seconds: float, setting: Setting) -> tuple[list[dict[str, Any]], list[str]]:
    """Runs all, one of the four rows at a time."""
    rows: list[dict[str, Any]] = []
    notes: list[str] = []
    for i, (row, (sack, quick)) in enumerate(ROWS.items()):
        share = (i / len(ROWS), (i + 1) / len(ROWS))
        if quick:
            wanted = {p: single(p, sack, seconds) for p in LOSSES}
            pairs = real_flows.beside(wanted, setting, "M-F4 real", at_once=len(LOSSES), share=share)
            for p, found in pairs.items():
                rows += of_single(row, p, found)
            notes += pairs[min(pairs)].notes(f"{row}, p = {min(pairs):g}")
        else:
            found = together({row: star(sack, seconds)}, setting, "M-F4 real", share=share)[row]
            rows += of_star(row, KERNEL, found.kernel) + of_star(row, TWIN, found.twin)
            notes += found.notes(row)
    return sorted(rows, key=lambda r: r["p"]), notes


def of(rows: Sequence[dict[str, Any]], row: str, world: str = KERNEL) -> list[dict[str, Any]]:
    """The runs of a row in a world."""
    return [r for r in rows if (r["row"], r["world"]) == (row, world) and r["p"] > 0]


def calm(rows: Sequence[dict[str, Any]], row: str, world: str = KERNEL) -> list[dict[str, Any]]:
    """Those without timeouts, of small losses."""
    return [r for r in of(rows, row, world) if not r["timeouts"] and r["loss"] <= SMALL]


def constant(rows: Sequence[dict[str, Any]], row: str, world: str = KERNEL) -> float:
    """C of equation (3) through the runs without timeouts, of small losses."""
    return float(ten.fits(calm(rows, row, world))[0].c)


def model(rows: Sequence[dict[str, Any]], row: str) -> Check:
    """Whether windows are the table's C over the root of p."""
    got = [r["window"] * r["p"] ** 0.5 / ten.TABLE[row].c for r in calm(rows, row)]
    name = f"{row}: window over C/sqrt(p) with the table's C, no timeouts, p up to {SMALL:g}"
    return between(name, got, 1 - NEAR, 1 + NEAR) if got else stated(name, "no run without timeouts", False)


def effect(rows: Sequence[dict[str, Any]], row: str) -> Check:
    """What an ack for each packet gives over delayed acks."""
    ratio = constant(rows, row) / constant(rows, f"{row} DA")
    root = math.sqrt(2)
    return within(
        f"{row}: C with an ack for each packet over C with delayed acks", ratio, root, NEAR_RATIO * root
    )


def share(r: dict[str, Any]) -> float:
    """Recoveries among the downward adjustments."""
    adjustments = (r["recoveries"] or 0) + r["timeouts"]
    return (r["recoveries"] or 0) / adjustments if adjustments else math.nan


def described(rows: Sequence[dict[str, Any]], row: str) -> list[str]:
    """A row of the table as it comes out, in both worlds, beside the printed one."""
    printed, lines = ten.TABLE[row], []
    for world in (KERNEL, TWIN):
        mine = of(rows, row, world)
        three, five = ten.fits(mine)
        shares = ", ".join(f"{share(r):.3f}" for p in ten.PLACES for r in mine if math.isclose(r["loss"], p))
        lines.append(
            f"{row}, {world}: N = {three.n} of {len(mine)}, C = {three.c:.3f}; k = {five.k:.3f}, C = "
            f"{five.c:.3f} (table: N = {printed.n}, {printed.c:.3f}; {printed.k:.3f}, {printed.free_c:.3f}); "
            f"shares of halvings at p = {', '.join(f'{p:g}' for p in ten.PLACES)}: {shares} (table: "
            f"{', '.join(f'{s:.3f}' for s in printed.shares)}); acks per packet "
            f"{np.median([r['acks'] for r in mine]):.2f}"
        )
    return lines


def picture(rows: Sequence[dict[str, Any]], names: Sequence[str]) -> Figure:
    """Windows against p in both worlds, and equation (3)."""
    fig, axes = scatter.figure(
        "Windows of the kernel's TCP against loss, on the kernel and simulated",
        "Linux reno, random loss, no queue; open markers: runs with timeouts; lines: simulated",
        "p: packets lost over packets sent",
        "BW RTT/MSS (packets)",
    )
    p = [r["p"] for name in names for r in of(rows, name)]
    for c, dash in ((lossy.CONSTANT["every"], (0, (5, 2))), (lossy.CONSTANT["delayed"], (0, (1, 1.5)))):
        scatter.power_law(axes, p, c, -0.5, f"C = {c:g}", linestyle=dash)
    for i, name in enumerate(names):
        mine, twin = of(rows, name), of(rows, name, TWIN)
        scatter.points(
            axes, i, f"{name}, kernel", *([r[key] for r in mine] for key in ("p", "window", "timeouts"))
        )
        colour = style.COLOURS[i % len(style.COLOURS)]
        axes.plot([r["p"] for r in twin], [r["window"] for r in twin], color=colour, linewidth=1.1)
    axes.legend(loc="best", fontsize=9)
    return fig


def outcome(setting: Setting, names: Sequence[str], checks: Any) -> Outcome:
    """The form over some rows of the table. checks: of all rows' runs."""
    rows, notes = measured(setting)
    shown = [line for name in names for line in described(rows, name)]
    table = pa.Table.from_pylist([r for r in rows if r["row"] in names])
    return Outcome(checks(rows), {"runs": table}, {"windows": picture(rows, names)}, shown + notes)


@real_form("M-F4", title="Windows of the kernel's TCP against random loss", choices=CHOICES)
def windows(setting: Setting) -> Outcome:
    """All four rows."""
    return outcome(
        setting,
        list(ROWS),
        lambda rows: [*(model(rows, r) for r in ROWS), effect(rows, "SACK"), effect(rows, "NewReno")],
    )


for _id, _row in (("M-T4b", "SACK"), ("M-T4d", "NewReno"), ("M-T4g", "SACK DA"), ("M-T4i", "NewReno DA")):

    @real_form(
        _id,
        title=f"The kernel's TCP in the place of {_row.removesuffix(' DA')}, "
        f"{'delayed acks' if _row.endswith('DA') else 'an ack for each packet'}",
        choices={**CHOICES, "runs": "those of the form of M-F4"},
    )
    def _row_of_table(setting: Setting, row: str = _row) -> Outcome:
        base = row.removesuffix(" DA")
        return outcome(setting, [base, f"{base} DA"], lambda rows: [model(rows, row), effect(rows, base)])
