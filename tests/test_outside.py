"""An extension module with the policies of an outside crate: every command knows them."""

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

import ackclock

ROOT = Path(__file__).parent.parent
CAPTURE = ROOT / "crates/ackclock-capture/tests/fixtures/kernel-bulk-and-an-outage.pcap.gz"

SCENARIO = """
duration = "5s"
workload = { kind = "bulk" }
path = { kind = "single", rtt = "100ms", link = { rate = "10Mbit/s" } }
[stacks]
plain = "sack"
ours = { preset = "sack", window = "paced", slow_start = "delay-exit", estimator = "doubled" }
"""
PLAN = """
[scenario]
duration = "1s"
workload = { kind = "bulk" }
path = { kind = "single", rtt = "100ms", link = { rate = "10Mbit/s" } }
stacks = { ours = { preset = "sack", window = { kind = "paced" } } }
[axes]
stacks.ours.window.gain = [1.0, 1.5]
"""


@pytest.fixture(scope="module")
def package(tmp_path_factory):
    """A folder with a package `ackclock` whose extension module is that of the outside crate."""
    # As maturin builds it. With the testkit, the crates below have the features with which `make test-rust`
    # has built them.
    environment = os.environ | {"PYO3_BUILD_EXTENSION_MODULE": "1", "PYO3_PYTHON": sys.executable}
    command = "cargo build --locked -p outside -p ackclock-testkit --message-format=json-render-diagnostics"
    built = subprocess.run(
        command.split(), cwd=ROOT, env=environment, capture_output=True, text=True, check=False
    )
    assert built.returncode == 0, built.stderr
    messages = map(json.loads, built.stdout.splitlines())
    (module,) = (m["filenames"][0] for m in messages if m.get("target", {}).get("name") == "outside")

    folder = tmp_path_factory.mktemp("outside")
    (folder / "ackclock").mkdir()
    for file in Path(ackclock.__file__).parent.iterdir():
        if file.suffix != ".so":
            (folder / "ackclock" / file.name).symlink_to(file)
    (folder / "ackclock/_core.abi3.so").symlink_to(module)
    return folder


@pytest.fixture
def with_ours(ackclock, package, monkeypatch):
    """Runs the command line with the outside crate's module."""
    monkeypatch.setenv("PYTHONPATH", str(package))
    return ackclock


def test_policies_lists_them(with_ours):
    found = {(p["kind"], p["name"]) for p in with_ours("policies", "--json").json}
    assert found >= {("window", "paced"), ("slow_start", "delay-exit"), ("estimator", "doubled")}
    assert ("estimator", "rfc6298") in found


def test_a_scenario_runs_them(with_ours, tmp_path):
    (tmp_path / "s.toml").write_text(SCENARIO)
    done = with_ours("run", "s.toml", "--json")
    assert done.code == 0, done.err
    resolved = (tmp_path / "runs/s/scenario.toml").read_text()
    assert "gain = 1.25" in resolved, "the default of the window's parameter"
    goodput = {row["stack"]: row["goodput"] for row in done.json["stacks"]}
    assert goodput["ours"] > 8e6


def test_a_sweep_runs_them_in_its_own_processes(with_ours, tmp_path):
    (tmp_path / "p.toml").write_text(PLAN)
    done = with_ours("sweep", "p.toml", "--workers", "2", "--json")
    assert done.code == 0, done.err
    assert done.json["made"] == 2


def test_timers_and_captures_replay_its_estimator(with_ours, tmp_path):
    rows = [f"{10 + i},{2 + i % 2}" for i in range(10)]
    (tmp_path / "s.csv").write_text("\n".join(["time,rtt", *rows]) + "\n")
    (timer,) = with_ours("timers", "s.csv", "--timer", "doubled", "--json").json["timers"]
    assert (timer["samples"], timer["rto"]["min"], timer["rto"]["max"]) == (10, 4.0, 6.0)

    found = with_ours("capture", CAPTURE, "--what-if", "doubled", "--json").json
    assert "doubled" in {w["timer"] for c in found["connections"] for w in c["directions"][0]["what_if"]}


def test_python_has_a_class_for_each(package):
    code = "import ackclock; print(ackclock.window.Paced(gain=2.0), ackclock.Doubled(initial_rto='2s'))"
    environment = os.environ | {"PYTHONPATH": str(package)}
    done = subprocess.run(
        [sys.executable, "-c", code], env=environment, capture_output=True, text=True, check=True
    )
    assert done.stdout == "Paced(gain=2.0) Doubled(initial_rto='2s')\n"


def test_without_the_crate_they_are_not_known(ackclock, tmp_path):
    (tmp_path / "s.toml").write_text(SCENARIO)
    done = ackclock("run", "s.toml")
    assert done.code == 2
    assert done.is_one_sentence()
