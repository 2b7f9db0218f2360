"""Analysis of a large capture, compared with tcptrace and tshark."""

from __future__ import annotations

import json
import os
import shutil
import statistics
import subprocess
import sys

from programs import ROOT, TARGET, WORK, Missing, measure, one_core, run_quietly

CAPTURE_TARGETS = {"packets_per_s": 2.5e6, "peak_mb": 200}
TSHARK_PACKETS = 200_000  # it is slower by orders of magnitude


def rusage(command: list[str]) -> dict:
    """CPU time and memory of a program that does not report them."""
    process = subprocess.Popen(
        command, cwd=WORK, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, preexec_fn=one_core
    )
    _, status, used = os.wait4(process.pid, 0)
    process.returncode = os.waitstatus_to_exitcode(status)
    if process.returncode:
        return {"error": f"exit {process.returncode}"}
    return {"cpu_s": used.ru_utime + used.ru_stime, "peak_kb": used.ru_maxrss}


def capture_benchmark(reps: int, peers: bool) -> list[dict]:
    """Analyses a capture of a gigabyte, also with tcptrace and tshark where they are installed."""
    command = [
        "cargo",
        "build",
        "--release",
        "--locked",
        "-p",
        "ackclock-testkit",
        "--example",
        "big_capture",
    ]
    if subprocess.run(
        [*command, "-p", "ackclock-capture", "--example", "bench_capture"], cwd=ROOT
    ).returncode:
        raise Missing("the benchmark of captures does not build")
    examples, file = TARGET / "release" / "examples", WORK / "big.pcap"
    made = json.loads(run_quietly([str(examples / "big_capture"), str(file)], "making a large capture"))
    programs = {"ackclock": ([str(examples / "bench_capture"), str(file)], made["packets"])}
    if peers and shutil.which("tcptrace"):
        programs["tcptrace -l -r"] = (["tcptrace", "-l", "-r", "-n", str(file)], made["packets"])
    if peers and shutil.which("tshark"):
        programs["tshark, a part"] = (
            ["tshark", "-n", "-c", str(TSHARK_PACKETS), "-q", "-z", "conv,tcp", "-r", str(file)],
            TSHARK_PACKETS,
        )
    runs: dict[str, list[dict]] = {name: [] for name in programs}
    for _ in range(reps):
        for name, (command, _) in programs.items():
            runs[name].append(measure(command) if name == "ackclock" else rusage(command))
    rows = []
    for name, (_, packets) in programs.items():
        good = [run for run in runs[name] if "error" not in run]
        if not good:
            print(f"{name}: {runs[name][0]['error']}", file=sys.stderr)
            continue
        rate = packets / statistics.median(run["cpu_s"] for run in good)
        rows.append(
            {
                "name": name,
                "packets_per_s": rate,
                "peak_mb": statistics.median(run["peak_kb"] for run in good) / 1024,
                "runs": runs[name],
            }
        )
    print(
        f"A capture of {made['bytes'] / 1e9:.2f} GB, {made['packets'] / 1e6:.1f} million packets, "
        f"{made['connections']} connections, on one core:"
    )
    for row in rows:
        ratio = (
            ""
            if row["name"] == "ackclock"
            else f"   ackclock is {rows[0]['packets_per_s'] / row['packets_per_s']:.1f} times as fast"
        )
        print(
            f"  {row['name']:<16} {row['packets_per_s'] / 1e6:>7.2f} million packets/s of CPU   peak "
            f"{row['peak_mb']:>7.1f} MB{ratio}"
        )
    if rows and rows[0]["name"] == "ackclock":
        fast, small = (
            rows[0]["packets_per_s"] >= CAPTURE_TARGETS["packets_per_s"],
            rows[0]["peak_mb"] <= CAPTURE_TARGETS["peak_mb"],
        )
        print(
            f"  targets: 2.5 million packets/s {'met' if fast else 'MISSED'}, 200 MB "
            f"{'met' if small else 'MISSED'}"
        )
    return rows
