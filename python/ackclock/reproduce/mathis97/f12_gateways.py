from __future__ import annotations

import pyarrow as pa
from matplotlib.figure import Figure

import ackclock as ac
from ackclock.plot import style
from ackclock.reproduce.item import Outcome, Setting, exactly, item
from ackclock.reproduce.mathis97 import gateways
from ackclock.sweep import run_all

MOST = 10
SHOWN = 3


@item(
    "M-F12",
    kind="SIM",
    title="Topology of several congested gateways",
    choices={
        "picture": "missing in our copy of the paper; after M-E6: 2n gateways in a row, every second of the "
        "2n - 1 lines congested, all of equal delay",
        "connections": "one from end to end, and a local one over each congested line; their hosts are "
        "at the gateways",
        "other lines": "ten times the bandwidth",
    },
)
def reproduce(setting: Setting) -> Outcome:
    """Builds the chain for n = 1 to 10 and looks at who uses which line, and at round-trip times."""
    chains = [gateways.Chain(n, 2e6, 50, ac.DropTail(limit="100packets")) for n in range(1, MOST + 1)]
    scenarios = [c.scenario(gateways.tcp()).but({"duration": "12s"}) for c in chains]
    runs = run_all(
        scenarios, workers=setting.workers, progress=lambda share, _: setting.progress(share, "M-F12")
    )
    rows = []
    for chain, run in zip(chains, runs, strict=True):
        rtt = {f["group"]: f["path_rtt"] for f in run.flows.to_pylist()}
        through = rtt.pop(gateways.END_TO_END)
        lines = [x for x in run.links.to_pylist() if not x["name"].endswith(".back")]
        rows.append(
            {
                "n": chain.n,
                "gateways": len({x["from"] for x in lines} | {x["to"] for x in lines}),
                "congested": sum(x["rate"] == chain.rate for x in lines),
                "others": sum(x["rate"] != chain.rate for x in lines),
                "used": sum(x["data_packets"] > 0 for x in lines),
                "rtt_0": through,
                "rtt_i": max(rtt.values()),
                "ratio": through / max(rtt.values()),
            }
        )
    n = [r["n"] for r in rows]
    checks = [
        exactly("gateways for n = 1 to 10", [r["gateways"] for r in rows], [2 * k for k in n]),
        exactly("congested lines", [r["congested"] for r in rows], n),
        exactly("lines that carry data", [r["used"] for r in rows], [2 * k - 1 for k in n]),
        exactly(
            "RTT_0 over RTT_i without queues",
            [round(r["ratio"], 6) for r in rows],
            [float(2 * k - 1) for k in n],
        ),
    ]
    return Outcome(checks, {"chains": pa.Table.from_pylist(rows)}, {"chain": picture()})


def picture() -> Figure:
    """The chain with three congested gateways."""
    fig, axes = style.figure(
        f"{SHOWN} congested gateways", "Thick: congested, bandwidth B; arrows: connections", size=(7.2, 2.6)
    )
    last = 2 * SHOWN - 1
    for k in range(last):
        axes.plot(
            [k, k + 1],
            [0, 0],
            color=style.COLOURS[1] if k % 2 == 0 else "#999999",
            linewidth=5 if k % 2 == 0 else 1.5,
            zorder=1,
        )
    axes.plot(
        range(last + 1),
        [0] * (last + 1),
        "o",
        markersize=16,
        markerfacecolor="white",
        markeredgecolor="black",
        zorder=2,
    )
    for k in range(last + 1):
        axes.annotate(f"g{k}", (k, 0), ha="center", va="center", fontsize=8)
    arrow = {"arrowstyle": "->", "linewidth": 1.6}
    axes.annotate("", (last, 0.62), (0, 0.62), arrowprops={**arrow, "color": style.COLOURS[0]})
    axes.annotate("connection 0", (last / 2, 0.68), ha="center", fontsize=9)
    for i in range(SHOWN):
        axes.annotate("", (2 * i + 1, -0.5), (2 * i, -0.5), arrowprops={**arrow, "color": style.COLOURS[2]})
        axes.annotate(f"connection {i + 1}", (2 * i + 0.5, -0.8), ha="center", fontsize=9)
    axes.set(xlim=(-0.4, last + 0.4), ylim=(-1, 1))
    axes.set_axis_off()
    return fig
