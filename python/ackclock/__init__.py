"""A laboratory for TCP loss recovery and congestion control.

    import ackclock as ac

    link = ac.Link("10Mbit/s", queue=ac.Red(limit="2bdp"))
    path = ac.Dumbbell(bottleneck=link, rtt=ac.Uniform("10ms", "200ms"))
    tcp = ac.Stack(recovery="sack", timer=ac.Rfc6298(min_rto="1s"))
    stacks = {"tcp": tcp, "no backoff": tcp.but(backoff="none")}
    run = ac.simulate(path, ac.Web(trace="I", load=1.2), stacks, seed=1)
    run.flows

Besides the names below, every policy and every workload is here under its name (`ac.Red`, `ac.Web`), and
every kind of policy as a namespace (`ac.backoff.SubExponential`); `ackclock policies` lists them.
"""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

from ackclock import policy
from ackclock._core import (
    AckclockError,
    InputError,
    MissingRightError,
    PolicyError,
    ScenarioError,
    SimulationError,
    VoidRunError,
)
from ackclock._core import version as __version__
from ackclock.scenario import (
    WORKLOADS,
    Chain,
    Dumbbell,
    Edge,
    Graph,
    Link,
    Scenario,
    Single,
    Stack,
    Uniform,
    simulate,
    testbed,
)

if TYPE_CHECKING:
    from ackclock import sweep
    from ackclock.results import Capture, Run, Sender, load, name_sender, read_capture
    from ackclock.sweep import Axis, Sweep

__all__ = [
    "AckclockError",
    "Axis",
    "Capture",
    "Chain",
    "Dumbbell",
    "Edge",
    "Graph",
    "InputError",
    "Link",
    "MissingRightError",
    "PolicyError",
    "Run",
    "Scenario",
    "ScenarioError",
    "Sender",
    "SimulationError",
    "Single",
    "Stack",
    "Sweep",
    "Uniform",
    "VoidRunError",
    "__version__",
    "load",
    "name_sender",
    "read_capture",
    "simulate",
    "sweep",
    "testbed",
]


def __getattr__(name: str) -> Any:
    if name in ("Capture", "Run", "Sender", "load", "name_sender", "read_capture"):
        # Imported when wanted: pyarrow takes a while.
        from ackclock import results

        return getattr(results, name)
    if name in ("Axis", "Sweep", "sweep"):
        module = importlib.import_module("ackclock.sweep")
        return module if name == "sweep" else getattr(module, name)
    if name in WORKLOADS:
        return WORKLOADS[name]
    try:
        return policy.find(name)
    except AttributeError as e:
        raise AttributeError(f"module 'ackclock' has no attribute {name!r}: {e}") from None


def __dir__() -> list[str]:
    return sorted({*__all__, *WORKLOADS, *policy.exported()})
