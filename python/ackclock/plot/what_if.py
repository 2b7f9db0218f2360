from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import matplotlib as mpl
from matplotlib.figure import Figure

from ackclock.plot import kinds, style
from ackclock.quantities import seconds

AS_RUN = "as-run"


def what_if(rows: Sequence[dict[str, Any]], *, title: str, subtitle: str = "") -> Figure:
    """Draws how long each timer would have waited: a bar for each, a line between the bounds where they
    differ, and the expiries beside it.

    rows: `timer`, `waited`, `waited_least`, `waited_most` (s), `timeouts` and `spurious`; the sender as it
    ran has the name `as-run`.
    """
    fig, axes = style.figure(title, subtitle, (7.2, 1.5 + 0.34 * max(len(rows), 3)))
    longest = max((r["waited_most"] for r in rows), default=0.0) or 1.0
    with mpl.rc_context(style.SETTINGS):
        for i, r in enumerate(rows):
            colour = kinds.WAIT if r["timer"] == AS_RUN else kinds.NEW
            axes.barh(i, r["waited"], height=0.62, color=colour, zorder=2)
            if r["waited_most"] - r["waited_least"] > 0.005 * longest:
                ends = [[max(r["waited"] - r["waited_least"], 0)], [max(r["waited_most"] - r["waited"], 0)]]
                axes.errorbar(r["waited"], i, xerr=ends, color="#222222", elinewidth=1.0, capsize=3, zorder=3)
            many = f"{r['timeouts']:,} timeout{'' if r['timeouts'] == 1 else 's'}"
            words = f"{seconds(r['waited'])}, {many}" + (
                f", {r['spurious']:,} spurious" if r["spurious"] else ""
            )
            axes.annotate(
                words,
                (max(r["waited"], r["waited_most"]), i),
                (5, 0),
                textcoords="offset points",
                va="center",
                fontsize=8,
            )
        axes.set_yticks(
            range(len(rows)),
            ["as it ran" if r["timer"] == AS_RUN else r["timer"] for r in rows],
            fontsize=8.5,
        )
        axes.invert_yaxis()
        axes.set(xlim=(0, 1.45 * longest), xlabel="waiting for timers (s); thin lines: least and most")
        axes.grid(True, axis="x")
    return fig
