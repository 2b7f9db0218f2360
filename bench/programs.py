"""Builds the simulators, and times single runs."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
import time
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
BENCH = ROOT / "bench"
TARGET = Path(os.environ.get("CARGO_TARGET_DIR", ROOT / "target"))
OUT = ROOT / "target"
WORK = OUT / "bench"

NS3_MODULES = ["ns3-core", "ns3-network", "ns3-internet", "ns3-point-to-point", "ns3-applications"]


class Missing(Exception):
    """A simulator that cannot run here, with the reason."""


def run_quietly(command: list[str], what: str) -> str:
    """The output of a program; if it fails, its last line is the error."""
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True)
    if done.returncode:
        raise Missing(
            f"{what} failed: "
            f"{(done.stderr.strip() or done.stdout.strip()).splitlines()[-1:] or ['no message']}"
        )
    return done.stdout


def build_ours() -> dict[str, list[str]]:
    """Commands of ackclock's two runs."""
    examples = {"dumbbell": "bench_dumbbell", "web": "bench_web"}
    command = ["cargo", "build", "--release", "--locked", "-p", "ackclock-sim"]
    for name in examples.values():
        command += ["--example", name]
    if subprocess.run(command, cwd=ROOT).returncode:
        raise Missing("ackclock does not build")
    return {kind: [str(TARGET / "release" / "examples" / name)] for kind, name in examples.items()}


def build_ns2() -> dict[str, list[str]]:
    """Commands of ns-2's two runs."""
    program = shutil.which("ns") or shutil.which("ns2")
    if program is None:
        raise Missing("ns-2 left out: install the Debian package `ns2`")
    return {
        "dumbbell": [program, str(BENCH / "ns2_dumbbell.tcl")],
        "web": [program, str(BENCH / "ns2_web.tcl")],
    }


def build_ns3() -> dict[str, list[str]]:
    """Commands of ns-3's two runs, compiled if needed."""
    if (
        not Path("/usr/include/ns3").exists()
        or shutil.which("pkg-config") is None
        or shutil.which("g++") is None
    ):
        raise Missing(
            "ns-3 left out: install the Debian packages `ns3`, `libns3-dev`, `pkg-config` and `g++`"
        )
    # `--libs-only-l`: Debian's `--libs` and `--cflags` name folders that do not exist.
    libraries = run_quietly(["pkg-config", "--libs-only-l", *NS3_MODULES], "pkg-config for ns-3").split()
    programs = {}
    for kind in ("dumbbell", "web"):
        source, program = BENCH / f"ns3_{kind}.cc", WORK / f"ns3_{kind}"
        newest = max(source.stat().st_mtime, (BENCH / "ns3_path.h").stat().st_mtime)
        if not program.exists() or program.stat().st_mtime < newest:
            print(f"Compiling {source.name}.", file=sys.stderr)
            run_quietly(
                ["g++", "-O2", "-std=c++17", "-o", str(program), str(source), *libraries],
                f"compiling {source.name}",
            )
        programs[kind] = [str(program)]
    return programs


def one_core() -> None:
    """Keeps a measured process on one core, where the system can."""
    if hasattr(os, "sched_setaffinity"):
        os.sched_setaffinity(0, {max(os.sched_getaffinity(0))})


def measure(command: list[str], timeout: float = 1800) -> dict:
    """Runs one simulator; returns its line of JSON with the time of the whole process."""
    begin = time.monotonic()
    try:
        done = subprocess.run(
            command, cwd=WORK, capture_output=True, text=True, timeout=timeout, preexec_fn=one_core
        )
    except subprocess.TimeoutExpired:
        return {"error": f"still running after {timeout:.0f} s"}
    if done.returncode:
        why = f"signal {-done.returncode}" if done.returncode < 0 else f"exit {done.returncode}"
        return {"error": f"{why}: {(done.stderr.strip().splitlines() or ['no message'])[-1]}"}
    result = json.loads(done.stdout.strip().splitlines()[-1])
    result["process_s"] = time.monotonic() - begin
    return result
