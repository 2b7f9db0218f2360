from __future__ import annotations

import math

import matplotlib as mpl
from matplotlib.figure import Figure

import ackclock as ac
from ackclock.plot import style
from ackclock.reproduce.backoff2008 import hot, testbed
from ackclock.reproduce.item import Outcome, Setting, between, exactly, item
from ackclock.scenario.topology import CORE, FANS, Topology


@item("B-F10", kind="SIM", title="The HOT-like topology", choices=hot.CHOICES)
def reproduce(setting: Setting) -> Outcome:
    """The numbers of the topology, read back from the network that was built."""
    t = hot.network()
    run = ac.simulate(hot.path(t), hot.http(t, 0.1), hot.stacks(testbed.NONE), duration="100ms", drain="60s")
    links = run.links.to_pylist()
    rate = {(row["from"], row["to"]): row["rate"] / 1e6 for row in links}
    core = {r for (a, b), r in rate.items() if not (a.startswith("h") or b.startswith("h"))}
    clients = [r for (a, b), r in rate.items() if a in t.clients or b in t.clients]
    share = 100 * len(t.servers) / (len(t.servers) + len(t.clients))
    checks = [
        exactly("nodes", len({row["from"] for row in links}), 67),
        exactly("links, both ways", len(links), 146),
        exactly(
            "servers of edge nodes", [len(t.servers), len(t.servers) + len(t.clients)], [round(0.1 * 53), 53]
        ),
        exactly("rate of the core (Mbit/s)", sorted(core), [10_000.0]),
        exactly(
            "rate of servers (Mbit/s)",
            sorted({r for (a, b), r in rate.items() if a in t.servers or b in t.servers}),
            [100.0],
        ),
        between("rates of clients (Mbit/s)", clients, 1, 10),
        exactly("delay of all links (s)", sorted({row["delay"] for row in links}), [0.01]),
    ]
    notes = [
        f"{share:.1f} % of edge nodes are servers; clients have {sum(clients) / len(clients):.2f} "
        "Mbit/s on average"
    ]
    return Outcome(checks, {"links": run.links}, {"topology": picture(t)}, notes)


def places(t: Topology) -> dict[str, tuple[float, float]]:
    """Where each node is drawn: the core inside, gateways around it, edge nodes in fans outside."""
    at = {
        f"core{k}": (math.cos(2 * math.pi * k / CORE), math.sin(2 * math.pi * k / CORE)) for k in range(CORE)
    }
    total, host, turned = sum(FANS) + 2 * len(FANS), 0, 0.0
    for k, fan in enumerate(FANS):
        width = 2 * math.pi * (fan + 2) / total
        middle = turned + width / 2
        at[f"gw{k}"] = (2.2 * math.cos(middle), 2.2 * math.sin(middle))
        for i in range(fan):
            angle = turned + width * (i + 1.5) / (fan + 2)
            at[f"h{host}"] = (3.5 * math.cos(angle), 3.5 * math.sin(angle))
            host += 1
        turned += width
    return at


def picture(t: Topology) -> Figure:
    """The network: core, gateways, servers, clients."""
    fig, axes = style.figure(
        "HOT-like network",
        "Core 10 Gbit/s, servers 100 Mbit/s, clients 1-10 Mbit/s, all links 10 ms",
        (6.4, 6.6),
    )
    at = places(t)
    kinds = {
        "core": ([n for n in at if n.startswith("core")], "s", 9, 6),
        "gateway": ([n for n in at if n.startswith("gw")], "D", 7, 0),
        "server": (list(t.servers), "o", 8, 1),
        "client": (list(t.clients), "o", 4.5, 4),
    }
    with mpl.rc_context(style.SETTINGS):
        for a, b, *_ in t.edges:
            axes.plot(*zip(at[a], at[b], strict=True), color="#bbbbbb", linewidth=0.9, zorder=1)
        for name, (nodes, marker, size, colour) in kinds.items():
            x, y = zip(*(at[n] for n in nodes), strict=True)
            axes.plot(
                x,
                y,
                linestyle="",
                marker=marker,
                markersize=size,
                color=style.COLOURS[colour],
                label=f"{name} ({len(nodes)})",
                zorder=2,
            )
        axes.set_aspect("equal")
        axes.set_axis_off()
        axes.legend(loc="lower center", bbox_to_anchor=(0.5, -0.06), ncols=4, fontsize=9)
    return fig
