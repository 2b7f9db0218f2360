"""Memory per established flow, its packets in flight included."""

from __future__ import annotations

import itertools
import sys

from programs import measure
from scenarios import SCENARIOS, Scenario

TARGET_BYTES_PER_FLOW = 5000
# Simulated seconds after which every flow has had a loss, and has the memory for that.
SECONDS = {100: 60, 1000: 20, 10_000: 10}
# Socket buffers of the single flow, bytes: as many packets as one of many has in flight.
ONE_WINDOW = 32_768


def bytes_per_flow(scenario: Scenario, program: list[str], one_kb: float) -> dict:
    """Memory that each flow except the first adds to a run, at its end. It is anonymous memory, to leave out
    the program's code.
    """
    run = measure(program + scenario.arguments(SECONDS[scenario.flows]))
    if "error" in run:
        return {"scenario": scenario.name, "error": run["error"]}
    per_flow = round((run["anon_kb"] - one_kb) * 1024 / (scenario.flows - 1))
    return {
        "scenario": scenario.name,
        "flows": scenario.flows,
        "seconds": SECONDS[scenario.flows],
        "bytes_per_flow": per_flow,
        "run": run,
    }


def memory_benchmark(program: list[str], only: list[Scenario]) -> list[dict]:
    """A run of each size, after one with a single flow of a few packets, whose memory is the fixed part of
    all runs.
    """
    wanted = [s for s in only if s.flows in SECONDS and not (s.classes or s.control or s.discipline)]
    if not wanted:
        return []
    one_kb = measure(program + SCENARIOS[0].arguments(SECONDS[100], window=ONE_WINDOW)).get("anon_kb", 0)
    rows = [bytes_per_flow(scenario, program, one_kb) for scenario in wanted]
    print("Memory per established flow, packets in flight included, when every flow has had a loss:")
    for row in rows:
        if "error" in row:
            print(f"  {row['scenario']}: {row['error']}", file=sys.stderr)
            continue
        met = "met" if row["bytes_per_flow"] <= TARGET_BYTES_PER_FLOW else "MISSED"
        print(
            f"  {row['scenario']:<26} {row['bytes_per_flow']:>7,} bytes after {row['seconds']} s   <= "
            f"{TARGET_BYTES_PER_FLOW:,} {met}"
        )
    good = [row for row in rows if "error" not in row]
    for fewer, more in itertools.pairwise(good):
        added = (more["run"]["anon_kb"] - fewer["run"]["anon_kb"]) * 1024 / (more["flows"] - fewer["flows"])
        print(f"  each flow between {fewer['flows']:,} and {more['flows']:,} adds {added:,.0f} bytes")
    return rows
