"""Measures ackclock and, where they are installed, ns-2 and ns-3 on the same scenarios; prints a table and
writes target/bench.json.

The simulators take turns (A B C A B C ...), pinned to one core, since machines drift: compare the ratios.
`bench/README.md` describes what is compared.
"""

from __future__ import annotations

import argparse
import contextlib
import json
import os
import platform
import re
import shutil
import statistics
import subprocess
import sys
from pathlib import Path

from captures import capture_benchmark
from memory import memory_benchmark
from programs import OUT, ROOT, TARGET, WORK, Missing, build_ns2, build_ns3, build_ours, measure, one_core
from scenarios import SCENARIOS, Scenario, write_arrivals

# ---- instruction counts
# ------------------------------------------------------------------------------------------------------------


def count_instructions(command: list[str]) -> int:
    """Instructions of one run, start and end of the program included."""
    done = subprocess.run(
        ["valgrind", "--tool=callgrind", f"--callgrind-out-file={WORK}/callgrind.out", *command],
        cwd=WORK,
        capture_output=True,
        text=True,
    )
    found = re.search(r"Collected : (\d+)", done.stderr)
    if done.returncode or found is None:
        raise Missing(f"callgrind failed: {done.stderr.strip().splitlines()[-1:]}")
    return int(found.group(1))


def instructions(scenarios: list[Scenario], program: dict[str, list[str]]) -> list[dict]:
    """Instructions per data packet (per connection in the web run): the difference of two runs, so that
    set-up and start do not count.
    """
    if shutil.which("valgrind") is None:
        raise Missing("no instruction counts: install the Debian package `valgrind`")
    rows = []
    for scenario in scenarios:
        long = scenario.seconds / (40 if scenario.web else 12)
        runs = []
        for seconds in (long / 2, long):
            command = program["web" if scenario.web else "dumbbell"] + scenario.arguments(seconds)
            runs.append((count_instructions(command), measure(command)))
        units = "connections" if scenario.web else "packets"
        per = (runs[1][0] - runs[0][0]) / (runs[1][1][units] - runs[0][1][units])
        rows.append({"scenario": scenario.name, "per": units[:-1], "instructions": round(per)})
        print(f"{scenario.name:<26} {per:>10,.0f} instructions per {units[:-1]}")
    return rows


# ---- the table
# ------------------------------------------------------------------------------------------------------------


def per_unit_ns(scenario: Scenario, run: dict) -> float:
    """ns of CPU time per data packet, or per connection begun in the web run."""
    return run["cpu_s"] / run["connections" if scenario.web else "packets"] * 1e9


def median_ns(scenario: Scenario, runs: list[dict]) -> float | None:
    """Median of the runs without errors."""
    good = [per_unit_ns(scenario, run) for run in runs if "error" not in run]
    return statistics.median(good) if good else None


def verdicts(scenario: Scenario, row: dict, rows: list[dict]) -> list[tuple[str, bool]]:
    """Each target of a row, and whether it is met; `rows` come before it."""
    out = []
    ours = row.get("ours_ns")
    if ours is None:
        return out
    if scenario.target_ns is not None:
        unit = "us" if scenario.web else "ns"
        out.append(
            (f"<= {scenario.target_ns / (1000 if scenario.web else 1):g} {unit}", ours <= scenario.target_ns)
        )
    if scenario.beside is not None:
        name, most = scenario.beside
        other = next((r.get("ours_ns") for r in rows if r["scenario"] == name), None)
        if other is not None:
            out.append((f"<= {most:g} x {name}", ours <= most * other))
    for peer, least in (("ns-2", scenario.ns2_ratio), ("ns-3", scenario.ns3_ratio)):
        ratio = row.get(f"{peer}_ratio")
        if least is not None and ratio is not None:
            out.append((f"{least:g} x {peer}", ratio >= least))
    return out


def summarise(scenario: Scenario, runs: dict[str, list[dict]], rows: list[dict]) -> dict:
    """One row of the table: medians, ratios, targets."""
    row: dict = {"scenario": scenario.name, "unit": "connection" if scenario.web else "data packet"}
    ours = [run for run in runs.get("ackclock", []) if "error" not in run]
    if ours:
        row["ours_ns"] = median_ns(scenario, ours)
        row["packets_per_s"] = statistics.median(
            run["packets"] / run.get("wall_s", run["cpu_s"]) for run in ours
        )
        row["peak_kb"] = statistics.median(run["peak_kb"] for run in ours)
    for peer in ("ns-2", "ns-3"):
        row[f"{peer}_ns"] = median_ns(scenario, runs.get(peer, []))
        if ours and row[f"{peer}_ns"] is not None:
            row[f"{peer}_ratio"] = row[f"{peer}_ns"] / row["ours_ns"]
        if runs.get(peer) and row[f"{peer}_ns"] is None:
            row[f"{peer}_error"] = runs[peer][0]["error"]
    row["targets"] = [{"target": text, "met": met} for text, met in verdicts(scenario, row, rows)]
    return row


def cell(value: float | None, scale: float = 1, digits: int = 0) -> str:
    """A number of the table, or a dash."""
    return "-" if value is None else f"{value / scale:,.{digits}f}"


def print_table(rows: list[dict]) -> None:
    """Prints the rows with their columns aligned."""
    heads = ["scenario", "packets/s", "ns/packet", "peak MB", "ns-2", "ratio", "ns-3", "ratio", "targets"]
    lines = [heads]
    for row in rows:
        web = row["unit"] == "connection"
        scale, digits, suffix = (1000, 1, " us/conn") if web else (1, 0, "")

        def cost(
            key: str, row: dict = row, scale: float = scale, digits: int = digits, suffix: str = suffix
        ) -> str:
            text = cell(row.get(key), scale, digits)
            return (
                text + suffix if text != "-" else "crashes" if row.get(key.replace("_ns", "_error")) else text
            )

        targets = ", ".join(f"{t['target']} {'met' if t['met'] else 'MISSED'}" for t in row["targets"])
        lines.append(
            [
                row["scenario"],
                cell(row.get("packets_per_s")),
                cost("ours_ns"),
                cell(row.get("peak_kb"), 1024, 1),
                cost("ns-2_ns"),
                cell(row.get("ns-2_ratio"), 1, 1),
                cost("ns-3_ns"),
                cell(row.get("ns-3_ratio"), 1, 0),
                targets,
            ]
        )
    widths = [max(len(line[i]) for line in lines) for i in range(len(heads))]
    for line in lines:
        cells = [
            text.ljust(width) if i in (0, len(heads) - 1) else text.rjust(width)
            for i, (text, width) in enumerate(zip(line, widths, strict=True))
        ]
        print("  ".join(cells).rstrip())


# ---- small benchmarks
# ------------------------------------------------------------------------------------------------------------

SMALL = [
    ("ackclock-sim", "bench_queue"),
    ("ackclock-engine", "bench_engine"),
    ("ackclock-policy", "bench_replay"),
]


def small_benchmarks() -> list[dict]:
    """Benchmarks of the event queue, the engine and the timers: each prints one line of JSON per figure
    (name, ns; optionally per_s, peak_kb).
    """
    rows = []
    for package, example in SMALL:
        if not (ROOT / "crates" / package / "examples" / f"{example}.rs").exists():
            continue
        if subprocess.run(
            ["cargo", "build", "--release", "--locked", "-p", package, "--example", example], cwd=ROOT
        ).returncode:
            raise Missing(f"{example} does not build")
        done = subprocess.run(
            [str(TARGET / "release" / "examples" / example)],
            capture_output=True,
            text=True,
            preexec_fn=one_core,
        )
        rows += [json.loads(line) for line in done.stdout.splitlines()]
    for row in rows:
        rate = (
            f"   {row['per_s'] / 1e6:>6.1f} million/s   peak {row['peak_kb'] / 1024:.1f} MB"
            if "per_s" in row
            else ""
        )
        print(f"{row['name']:<60} {row['ns']:>8.1f} ns{rate}")
    return rows


# ---- the machine
# ------------------------------------------------------------------------------------------------------------


def first_line(command: list[str]) -> str | None:
    """The first line of a program's output, if it is installed."""
    try:
        return (
            subprocess.run(command, cwd=ROOT, capture_output=True, text=True).stdout.strip().splitlines()[0]
        )
    except (OSError, IndexError):
        return None


def machine() -> dict:
    """The machine and the versions."""
    cpu = platform.processor() or platform.machine()
    with contextlib.suppress(OSError, AttributeError):
        cpu = re.search(r"model name\s*:\s*(.+)", Path("/proc/cpuinfo").read_text()).group(1)
    return {
        "cpu": cpu,
        "cores": os.cpu_count(),
        "system": f"{platform.system()} {platform.release()}",
        "python": platform.python_version(),
        "rustc": first_line(["rustc", "--version"]),
        "ns-2": first_line(["dpkg-query", "-W", "-f=${Version}", "ns2"]),
        "ns-3": first_line(["dpkg-query", "-W", "-f=${Version}", "libns3-dev"]),
        "revision": first_line(["git", "rev-parse", "HEAD"]),
        "load_before": os.getloadavg()[0] if hasattr(os, "getloadavg") else None,
    }


# ---- the run
# ------------------------------------------------------------------------------------------------------------


def parse() -> argparse.Namespace:
    """The options of the command line, checked."""
    parser = argparse.ArgumentParser(prog="bench/run.py", description=__doc__.partition("\n\n")[0])
    parser.add_argument(
        "--quick", action="store_true", help="a quarter of the simulated time, once, peers up to 1000 flows"
    )
    parser.add_argument("--only", metavar="TEXT", help="only scenarios whose name contains this")
    parser.add_argument(
        "--reps", type=int, metavar="N", help="repetitions (3; 1 with --quick); the median is shown"
    )
    parser.add_argument("--no-peers", action="store_true", help="only ackclock")
    parser.add_argument("--peers-only", action="store_true", help="only the peers")
    parser.add_argument(
        "--no-small",
        action="store_true",
        help="without the benchmarks of the event queue, the engine and the timers",
    )
    parser.add_argument(
        "--instructions",
        action="store_true",
        help="count ackclock's instructions per data packet with callgrind instead (repeatable)",
    )
    parser.add_argument("--captures", action="store_true", help="only the analysis of a large capture")
    options = parser.parse_args()
    options.scenarios = [s for s in SCENARIOS if options.only is None or options.only in s.name]
    if not options.scenarios:
        parser.error(f"--only {options.only!r} matches none of: {'; '.join(s.name for s in SCENARIOS)}")
    if options.reps is not None and options.reps < 1:
        parser.error(f"--reps {options.reps} is not a number of repetitions; give 1 or more")
    options.reps = options.reps or (1 if options.quick else 3)
    return options


def prepare(options: argparse.Namespace) -> dict[str, dict[str, list[str]]]:
    """Builds the simulators; prints a line for each that cannot run here."""
    WORK.mkdir(parents=True, exist_ok=True)
    write_arrivals(WORK / "arrivals.txt", max(s.seconds for s in SCENARIOS if s.web))
    wanted = {} if options.peers_only else {"ackclock": build_ours}
    if not options.no_peers and not options.instructions:
        wanted |= {"ns-2": build_ns2, "ns-3": build_ns3}
    simulators = {}
    for name, build in wanted.items():
        try:
            simulators[name] = build()
        except Missing as why:
            print(why, file=sys.stderr)
    return simulators


def plan(scenario: Scenario, simulator: str, options: argparse.Namespace) -> tuple[float, int]:
    """Simulated seconds and repetitions of one simulator in one scenario; 0 repetitions: not run."""
    seconds = scenario.ns3_seconds if simulator == "ns-3" else scenario.seconds
    reps = options.reps
    if simulator != "ackclock" and (scenario.classes or scenario.control or scenario.discipline):
        return 0, 0
    if simulator != "ackclock" and scenario.flows > 1000:
        # ns-2 takes almost a minute to set up 10,000 flows.
        reps = 0 if options.quick else 1
    if options.quick and scenario.flows <= 100:
        seconds /= 4
    return seconds, reps if seconds else 0


def run_scenario(scenario: Scenario, simulators: dict, options: argparse.Namespace) -> dict[str, list[dict]]:
    """Runs the simulators in turns."""
    kind = "web" if scenario.web else "dumbbell"
    runs: dict[str, list[dict]] = {name: [] for name in simulators}
    for turn in range(options.reps):
        for name, programs in simulators.items():
            seconds, reps = plan(scenario, name, options)
            if turn >= reps:
                continue
            if sys.stderr.isatty():
                print(
                    f"\r\033[K{scenario.name}: {name}, {turn + 1} of {reps}",
                    end="",
                    file=sys.stderr,
                    flush=True,
                )
            runs[name].append(measure(programs[kind] + scenario.arguments(seconds)))
    if sys.stderr.isatty():
        print("\r\033[K", end="", file=sys.stderr)
    return runs


def main() -> int:
    """Measures, prints and writes the results; returns the exit code."""
    options = parse()
    about = machine()
    if options.captures:
        WORK.mkdir(parents=True, exist_ok=True)
        try:
            rows = capture_benchmark(options.reps, not options.no_peers)
        except Missing as why:
            print(why, file=sys.stderr)
            return 1
        (OUT / "bench-captures.json").write_text(
            json.dumps({"machine": about, "captures": rows}, indent=1) + "\n"
        )
        return 0
    simulators = prepare(options)
    if not simulators:
        print("Nothing to measure.", file=sys.stderr)
        return 1
    result: dict = {"machine": about, "quick": options.quick, "repetitions": options.reps}
    if options.instructions:
        try:
            result["instructions"] = instructions(options.scenarios, simulators["ackclock"])
        except Missing as why:
            print(why, file=sys.stderr)
            return 1
    else:
        rows, raw = [], {}
        for scenario in options.scenarios:
            raw[scenario.name] = run_scenario(scenario, simulators, options)
            for name, runs in raw[scenario.name].items():
                for run in runs:
                    if "error" in run:
                        print(f"{scenario.name}: {name}: {run['error']}", file=sys.stderr)
            rows.append(summarise(scenario, raw[scenario.name], rows))
        print_table(rows)
        print(
            "ns of CPU time per data packet through the bottleneck (acks included), set-up excluded; "
            "web: us per connection."
        )
        if "ns-3" in simulators:
            print(
                "Debian's ns-3 has logging and assertions compiled in; an optimised build takes about "
                "three quarters of its time or less."
            )
        result |= {"rows": rows, "raw": raw}
        if "ackclock" in simulators:
            result["memory"] = memory_benchmark(simulators["ackclock"]["dumbbell"], options.scenarios)
        if not options.no_small and not options.peers_only and options.only is None:
            result["small"] = small_benchmarks()
            result["captures"] = capture_benchmark(options.reps, not options.no_peers)
    (OUT / "bench.json").write_text(json.dumps(result, indent=1) + "\n")
    return 0


if __name__ == "__main__":
    sys.exit(main())
