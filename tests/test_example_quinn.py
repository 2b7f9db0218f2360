"""The example with quinn's controllers builds, and each of them runs a scenario and gets a passport. The
first build takes minutes: `make example-quinn` runs these tests.
"""

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

EXAMPLE = Path(__file__).parent.parent / "examples/quinn"

pytestmark = [
    pytest.mark.slow,
    pytest.mark.skipif(
        "ACKCLOCK_EXAMPLES" not in os.environ, reason="builds another module; ACKCLOCK_EXAMPLES=1 runs it"
    ),
]


def run(folder, *arguments):
    command = [sys.executable, str(EXAMPLE / "run.py"), *arguments]
    done = subprocess.run(command, cwd=folder, capture_output=True, text=True, timeout=1800, check=False)
    assert "Traceback" not in done.stderr, done.stderr
    return done


def test_each_controller_fills_a_link(tmp_path):
    done = run(tmp_path, "run", str(EXAMPLE / "three.toml"), "--json")
    assert done.returncode == 0, done.stderr
    stacks = {row["stack"]: row for row in json.loads(done.stdout)["stacks"]}
    assert len(stacks) == 5
    for name, row in stacks.items():
        assert row["goodput"] > 18e6, name
        assert row["loss"] < 0.05, name


def test_new_reno_shares_with_our_reno(tmp_path):
    # The same rule twice, and paced once: neither takes much of the other's share.
    few = ("--only", "beside-reno", "--only", "backoff", "--json")
    done = run(tmp_path, "passport", "quinn-newreno", "--stack", "rack", *few)
    assert done.returncode == 0, done.stderr
    (backoff, beside) = json.loads(done.stdout)["criteria"]
    assert backoff["verdict"] == beside["verdict"] == "ok"
    assert all(0.6 < s["value"] < 1.4 for s in beside["scenes"] if "8 bdp" not in s["where"])


def test_runs_of_new_reno_are_the_same_twice(tmp_path):
    arguments = ("passport", "quinn-newreno", "--stack", "rack", "--only", "ecn", "--json")
    once, twice = (json.loads(run(tmp_path, *arguments).stdout)["criteria"] for _ in range(2))
    assert once == twice


@pytest.mark.parametrize("window", ["quinn-cubic", "quinn-bbr"])
def test_the_others_get_a_passport(tmp_path, window):
    done = run(tmp_path, "passport", window, "--stack", "rack", "--only", "utilisation", "--json")
    assert done.returncode in (0, 1), done.stderr
    (used,) = json.loads(done.stdout)["criteria"]
    assert used["value"] > 0.8
