from __future__ import annotations

import ackclock as ac
from ackclock.reproduce.backoff2008 import two_bottlenecks as two
from ackclock.reproduce.item import Outcome, Setting, exactly, item

HOPS = {
    two.FAR: ["S0-R1", "R1-R2", "R2-R3", "R3-R4", "R4-C0"],
    two.NEAR: ["S1-R1", "R1-R2", "R2-C1"],
    two.LAST: ["S2-R3", "R3-R4", "R4-C2"],
}
NODES = ["C0", "C1", "C2", "R1", "R2", "R3", "R4", "S0", "S1", "S2"]


@item("B-F7", kind="SIM", title="The topology with two bottlenecks", choices=two.CHOICES)
def reproduce(setting: Setting) -> Outcome:
    """The numbers of the topology, and the way of each workload, read back from the network that was
    built.
    """
    run = two.scenario("I", 2, repeat=1).simulate(workers=setting.workers)
    links = [row for row in run.links.to_pylist() if row["run"] == "TCP"]
    rates = {row["name"]: row["rate"] / 1e6 for row in links}
    others = {
        rate for name, rate in rates.items() if name.removesuffix(".back") not in (two.FIRST, two.SECOND)
    }
    checks = [
        exactly("bottlenecks (Mbit/s)", [rates[two.FIRST], rates[two.SECOND]], [10.0, 10.0]),
        exactly("other links, both ways (Mbit/s)", sorted(others), [50.0]),
        exactly("nodes", sorted({row[end] for row in links for end in ("from", "to")}), NODES),
    ]
    checks += [exactly(f"links that {name} takes", ways(name), hops) for name, hops in HOPS.items()]
    return Outcome(checks, {"links": run.links})


def ways(name: str) -> list[str]:
    """Links over which the files of one workload go, in the topology's order: those with more payload than
    requests make up.
    """
    alone = [w for w in two.workloads("I") if w.given["name"] == name]
    run = ac.simulate(two.path(), alone, "sack+per-ack", duration="2s", drain="20s")
    payload = {row["name"]: row["unique_bytes"] or 0 for row in run.links.to_pylist()}
    used = {link for link, carried in payload.items() if carried > 0.5 * max(payload.values())}
    return (
        [link for link in HOPS[two.FAR] if link in used]
        if name == two.FAR
        else sorted(used, key=HOPS[name].index)
    )
