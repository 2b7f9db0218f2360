from __future__ import annotations

import math
from typing import Any

import pyarrow as pa
from matplotlib.figure import Figure

from ackclock.reproduce.item import Check, Outcome, Setting, at_least, between, item, stated, within
from ackclock.reproduce.mathis97 import scatter, ten

LEAST_ERROR, CYCLES = 0.015, 50
"""Standard error of a share: at least so much, and that of so many cycles, the least that the paper ran."""


def error(share: float) -> float:
    """The standard error of a share of the table."""
    return max(LEAST_ERROR, math.sqrt(share * (1 - share) / CYCLES))


def about(row: str, runs: dict[str, tuple[list[dict[str, Any]], list[dict[str, Any]]]]) -> dict[str, Any]:
    """A row of the table as it comes out here, beside the printed one."""
    printed, (fitted, shared) = ten.TABLE[row], runs[row]
    (three, five), (at_signals, free_at_signals) = ten.fits(fitted), ten.fits(fitted, "p_ca")
    found = {
        "row": row,
        "n": three.n,
        "c": three.c,
        "c_error": three.c_error,
        "c_spread": three.c * three.spread,
        "k": five.k,
        "k_error": five.k_error,
        "free_c": five.c,
        "free_c_error": five.c_error,
        "c_by_signals": at_signals.c,
        "k_by_signals": free_at_signals.k,
        "printed_n": printed.n,
        "printed_c": printed.c,
        "printed_k": printed.k,
        "printed_free_c": printed.free_c,
        "printed_free_error": printed.free_error,
    }
    for p, r, there in zip(ten.PLACES, shared, printed.shares, strict=True):
        found |= {f"share_{p:g}": ten.share(r), f"printed_share_{p:g}": there}
    return found


def own(row: dict[str, Any]) -> list[Check]:
    """What the register says of every row."""
    off = {
        p: abs(row[f"share_{p:g}"] - row[f"printed_share_{p:g}"]) / error(row[f"printed_share_{p:g}"])
        for p in ten.PLACES
    }
    return [
        within("C of equation (3)", row["c"], row["printed_c"], 0.10),
        between("k of equation (5)", row["k"], -0.56, -0.48),
        within(
            "C of equation (5)",
            row["free_c"],
            row["printed_free_c"],
            0.1 * row["printed_free_c"] + row["printed_free_error"],
        ),
        *(
            within(
                f"share of halvings at p = {p:g}",
                row[f"share_{p:g}"],
                row[f"printed_share_{p:g}"],
                3 * error(row[f"printed_share_{p:g}"]),
            )
            for p in ten.PLACES
        ),
        at_least("shares within two standard errors", sum(x <= 2 for x in off.values()), 2, "at least"),
    ]


def across(row: str, table: dict[str, dict[str, Any]]) -> list[Check]:
    """What the register says of this row and others."""
    block = ten.PLAIN if row in ten.PLAIN else ten.DELAYED
    checks = []
    if row in ten.DELAYED:
        ratio = table[row]["c"] / table[row.removesuffix(" DA")]["c"] * math.sqrt(2)
        checks.append(within("C, times the root of 2 over that without delayed acks", ratio, 1.0, 0.08))
    if row.startswith("Tahoe"):
        for name, word in (("k", "steepest k"), ("c", "smallest C")):
            ranked = sorted(block, key=lambda r: table[r][name])
            got = ", ".join(f"{r} {table[r][name]:.3f}" for r in ranked)
            checks.append(stated(f"{word} of its block", got, ranked[0] == row, row))
    if row.startswith("FACK"):
        for p in ten.PLACES[1:]:
            ranked = sorted(block, key=lambda r: -table[r][f"share_{p:g}"])
            got = ", ".join(f"{r} {table[r][f'share_{p:g}']:.3f}" for r in ranked)
            checks.append(
                stated(f"largest share of halvings in its block at p = {p:g}", got, ranked[0] == row, row)
            )
    if row.startswith("FACK"):
        n = {r: table[r]["n"] for r in block}
        rest = [n[r] for r in block if r != row]
        got = ", ".join(f"{r} {k}" for r, k in n.items())
        checks += [
            stated("most runs without timeouts of its block", got, n[row] >= 1.2 * max(rest), "1.2 times"),
            stated(
                "those of the other four alike", got, max(rest) - min(rest) <= 2, "within 2 of each other"
            ),
        ]
    if row == "FACK-RH":
        more = [r for r in ten.DELAYED if table[r]["n"] > table[r.removesuffix(" DA")]["n"]]
        checks.append(
            stated("rows with more of them with delayed acks", ", ".join(more) or "none", not more, "none")
        )
        steeper = sum(r["k"] < -0.5 for r in table.values())
        checks.append(at_least("rows whose k is below -1/2, of ten", steeper, 8, "at least"))
    return checks


def others(row: str) -> list[str]:
    """The rows that its checks need."""
    if row == "FACK-RH":
        return list(ten.TABLE)
    block = ten.PLAIN if row in ten.PLAIN else ten.DELAYED
    wanted = [*block] if row.startswith(("FACK", "Tahoe")) else [row]
    return [*dict.fromkeys([row, *wanted, row.removesuffix(" DA")])]


def picture(row: str, runs: list[dict[str, Any]], found: dict[str, Any]) -> Figure:
    """The runs, the fit through those without timeouts, and the printed fit."""
    acks = "delayed acks" if row in ten.DELAYED else "an ack for each packet"
    subtitle = f"Random loss, no queue, {acks}; open markers: runs with timeouts, which the fit leaves out"
    fig, axes = scatter.figure(
        f"Windows of {row.removesuffix(' DA')} against loss",
        subtitle,
        "p: packets lost over packets sent",
    )
    drawn = [r for r in runs if r["p"] > 0]
    p = [r["p"] for r in drawn]
    scatter.power_law(axes, p, found["free_c"], found["k"], f"fit: {found['free_c']:.3f} p^{found['k']:.3f}")
    printed = f"table 4: {found['printed_free_c']:.3f} p^{found['printed_k']:.3f}"
    scatter.power_law(axes, p, found["printed_free_c"], found["printed_k"], printed, linestyle=(0, (4, 2)))
    scatter.points(
        axes, 0, row.removesuffix(" DA"), p, [r["window"] for r in drawn], [r["timeouts"] for r in drawn]
    )
    axes.legend(loc="best", fontsize=9)
    return fig


def reproduce(setting: Setting, row: str) -> Outcome:
    """One row, and what it is compared with."""
    runs = ten.runs(setting, others(row))
    table = {r: about(r, runs) for r in runs}
    found = table[row]
    notes = [
        f"N = {found['n']}; C = {found['c']:.3f} +/- {found['c_error']:.3f} by equation (3), the runs "
        f"{found['c_spread']:.3f} about it; k = {found['k']:.3f} +/- {found['k_error']:.3f}, C = "
        f"{found['free_c']:.3f} +/- {found['free_c_error']:.3f} by equation (5). The table has N = "
        f"{found['printed_n']}, C = {found['printed_c']:.3f}, k = {found['printed_k']:.3f}, C = "
        f"{found['printed_free_c']:.3f}.",
        "With CA events per acknowledged segment in place of p: C = "
        f"{found['c_by_signals']:.3f}, k = {found['k_by_signals']:.3f}.",
    ]
    tables = {
        "rows": pa.Table.from_pylist(list(table.values())),
        "runs": pa.Table.from_pylist([r for fitted, _ in runs.values() for r in fitted]),
        "shares": pa.Table.from_pylist([ten.counted(r) for _, shared in runs.values() for r in shared]),
    }
    return Outcome(
        [*own(found), *across(row, table)], tables, {"windows": picture(row, runs[row][0], found)}, notes
    )


def declare(id: str, row: str) -> None:
    """Declares the item of a row."""

    def run(setting: Setting) -> Outcome:
        """Windows against the loss rate, with the lines of equations (3) and (5) fitted to them."""
        return reproduce(setting, row)

    acks = "delayed acks" if row in ten.DELAYED else "an ack for each packet"
    item(id, kind="SIM", title=f"Table 4: {row.removesuffix(' DA')}, {acks}", choices=ten.CHOICES)(run)


for letter, name in zip("abcdefghij", ten.TABLE, strict=True):
    declare(f"M-T4{letter}", name)
