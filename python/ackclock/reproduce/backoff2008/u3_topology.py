from __future__ import annotations

from pathlib import Path

import pyarrow as pa

from ackclock.reproduce.backoff2008 import hot
from ackclock.reproduce.item import Outcome, Setting, at_most, exactly, item
from ackclock.scenario import topology

FILE = Path("scenarios/hot-like.edges")


@item(
    "B-U3",
    kind="TOOL",
    title="A HOT-like topology by rule, and any other from a file",
    choices={
        "scaler": "none: a rule makes the network at its size; `edges_file` of a scenario loads any list",
        "edges": hot.CHOICES["edges"],
    },
    tests=[
        "tests/test_topology.py::test_the_network_has_the_size_of_the_register",
        "tests/test_topology.py::test_the_file_is_what_the_rule_gives",
        "tests/test_topology.py::test_any_list_of_edges_is_loaded",
        "tests/test_topology.py::test_figures_of_known_networks",
    ],
)
def reproduce(setting: Setting) -> Outcome:
    """Size, degrees and assortativity of the network."""
    t = hot.network()
    degree = topology.degrees(t.edges)
    r = topology.assortativity(t.edges)
    spread = sorted(degree.values(), reverse=True)
    checks = [
        exactly("nodes, links", [len(degree), len(t.edges)], [67, 73]),
        at_most("assortativity: hubs link to leaves", r, 0.0, "below"),
    ]
    counts = {d: spread.count(d) for d in sorted(set(spread))}
    notes = [
        f"assortativity {r:.3f}; mean degree {sum(spread) / len(spread):.3f}, largest {spread[0]}",
        "nodes by degree: " + ", ".join(f"{n} of degree {d}" for d, n in counts.items()),
        f'the list of edges is `{FILE}`; `path = {{ kind = "graph", edges_file = ... }}` loads it or '
        "any other",
    ]
    table = pa.table({"node": list(degree), "degree": list(degree.values())})
    return Outcome(checks, {"degrees": table}, notes=notes)
