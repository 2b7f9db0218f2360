"""Scenarios as Python values: small classes that are written as the keys of a scenario file."""

from ackclock.scenario.path import Chain, Dumbbell, Edge, Graph, Link, Single, Uniform
from ackclock.scenario.scenario import Scenario, simulate, testbed
from ackclock.scenario.stack import Stack
from ackclock.scenario.workload import WORKLOADS, Workload

__all__ = [
    "WORKLOADS",
    "Chain",
    "Dumbbell",
    "Edge",
    "Graph",
    "Link",
    "Scenario",
    "Single",
    "Stack",
    "Uniform",
    "Workload",
    "simulate",
    "testbed",
]
