"""`ackclock sweep`, and the plans that it reads."""

from __future__ import annotations

import json
from pathlib import Path

import pyarrow.parquet as pq
import pytest

from ackclock.sweep import plan as plans

ROOT = Path(__file__).parents[1]

PLAN = """
title = "Two delays"
seeds = 2
where = 'path.rtt < "50ms"'
[scenario]
duration = "3s"
path = { kind = "single", rtt = "20ms", link = { rate = "5Mbit/s" } }
workload = { kind = "fixed", size = "50kB" }
stacks = { reno = "reno", sack = "sack" }
[axes]
path.rtt = ["20ms", "40ms", "60ms"]
"""


@pytest.mark.slow
def test_the_command_writes_tables_prints_means_and_keeps_runs(ackclock, tmp_path):
    (tmp_path / "two.toml").write_text(PLAN)
    done = ackclock("sweep", "two.toml", "--plot", "path.rtt,mean", "--workers", "1")
    assert done.code == 0, done.err
    answer, _, table = done.out.partition("\n\n")
    first = [line.split()[:4] for line in table.splitlines()[1:]]
    assert first == [[rtt, "ms", stack, "2"] for rtt in ("20", "40") for stack in ("reno", "sack")]
    assert "±" in done.out
    assert done.err.startswith("Runs made: 4; found in runs/kept: 0. Tables in ")
    folder = tmp_path / "runs/two"
    assert {p.name for p in folder.iterdir()} == {
        *(
            "plan.toml",
            "scenario.toml",
            "summary.json",
            "ackclock.json",
            "sweep.parquet",
            "flows.parquet",
            "links.parquet",
            "plot.png",
            "plot.svg",
        )
    }
    assert pq.read_table(folder / "sweep.parquet").num_rows == 8
    again = ackclock("sweep", "two.toml", "--json")
    assert (again.code, again.err) == (0, "")
    assert (again.json["made"], again.json["found"]) == (0, 4)
    assert again.json["rows"][0]["mean"]["sd"] is not None
    assert again.json["answer"] == answer.splitlines()
    assert json.loads((folder / "summary.json").read_text()) == again.json
    counted = ackclock("sweep", "two.toml", "--count", "--json", "--set", "duration=4s")
    assert counted.json == {"runs": 4, "kept": 0, "refused": 0}


@pytest.mark.slow
def test_the_command_makes_valid_runs_and_reports_invalid_ones(ackclock, tmp_path):
    (tmp_path / "two.toml").write_text(PLAN.replace('"60ms"]', '"soon"]').replace("where", "# where"))
    done = ackclock("sweep", "two.toml", "--workers", "1", "--json")
    assert done.code == 2
    assert done.err == (
        "Invalid: path.rtt = soon: `path.rtt` is `soon`, which is not a time: give a number with a "
        "unit, such as `10ms`, "
    ) + ("`1.5s`, `200us` or `2min`\n")
    assert [f["where"] for f in done.json["failures"]] == ["path.rtt = soon"]
    assert done.json["runs"] == 4


@pytest.mark.parametrize(
    ("change", "arguments", "says"),
    [
        (("title", "titel"), [], "two.toml: `titel` is not a known key (did you mean `title`?)"),
        (("[scenario]", "[other]"), [], "two.toml: `other` is not a known key"),
        (("seeds = 2", "seeds = 2.5"), [], "two.toml: `seeds` is `2.5`"),
        (("path.rtt < ", "rtt < "), [], "two.toml: `where` is `rtt < "),
        (("where = 'path.rtt < \"50ms\"'", "where = 3"), [], "`where` is `3`, which is not an expression"),
        (('["20ms", "40ms", "60ms"]', '"20ms"'), [], "two.toml: axis `path.rtt` is `20ms`"),
        (("path.rtt = [", "path.rrt = ["), [], "is not an axis"),
        (("stacks = {", "stack = {"), [], "`stack` is not a known key (did you mean `stacks`?)"),
        (("[axes]", "[axes"), [], "two.toml: this is not TOML"),
        (("title", "most = 3\ntitle"), [], "4 runs (3 of `path.rtt`, and seeds); expected at most 3"),
        (("title", "title"), ["--plot", "path.rtt"], "is not an axis and a number"),
        (("title", "title"), ["--plot", "mss,goodput"], "`mss` is not an axis"),
        (("title", "title"), ["--show", "goodputt"], "did you mean `goodput`?"),
        (("title", "title"), ["--workers", "2", "--scheduler", "tcp://x:1"], "give only one"),
        (("title", "title"), ["--keep", "two.toml"], "`two.toml` is a file"),
        (("title", "title"), ["--out", "two.toml"], "`two.toml` is a file"),
        (("title", "title"), ["--set", "duration"], "`--set duration`"),
    ],
)
def test_an_invalid_plan_is_one_sentence_and_exit_2(ackclock, tmp_path, change, arguments, says):
    (tmp_path / "two.toml").write_text(PLAN.replace(*change))
    done = ackclock("sweep", "two.toml", *arguments)
    assert done.code == 2
    assert done.is_one_sentence(), done.err
    assert says in done.err
    assert [p.name for p in tmp_path.iterdir()] == ["two.toml"]


@pytest.mark.parametrize(
    ("command", "file", "says"),
    [
        (
            "run",
            "plan.toml",
            "a sweep plan (it has `scenario`, `axes`), which `ackclock sweep plan.toml`",
        ),
        ("testbed", "plan.toml", "a sweep plan (it has `scenario`, `axes`)"),
        (
            "sweep",
            "one.toml",
            "a scenario (it has `path`, `workload`, `stacks`), which `ackclock run one.toml`",
        ),
    ],
)
def test_a_plan_for_a_scenario_and_the_other_way_round_names_the_command(
    ackclock, tmp_path, command, file, says
):
    (tmp_path / "plan.toml").write_text(PLAN)
    (tmp_path / "one.toml").write_text((ROOT / "scenarios/short-lossy.toml").read_text())
    done = ackclock(command, file)
    assert done.code == 2 and done.is_one_sentence(), done
    assert done.err.startswith(f"ackclock: {file}: this is ") and says in done.err, done.err
    assert not (tmp_path / "runs").exists()


@pytest.mark.parametrize("axes", [True, False])
@pytest.mark.parametrize(
    ("change", "says"),
    [(("duration", "durations"), "`durations` is not"), (("sack", "sakc"), "`stacks.sakc` is `sakc`")],
)
def test_a_scenario_within_a_plan_is_named_once_and_without_its_own_lines(
    ackclock, tmp_path, axes, change, says
):
    plan = PLAN if axes else "[scenario]" + PLAN.partition("[scenario]")[2].partition("[axes]")[0]
    (tmp_path / "two.toml").write_text(plan.replace(*change))
    done = ackclock("sweep", "two.toml")
    assert done.code == 2 and done.is_one_sentence(), done
    assert done.err.startswith(f"ackclock: two.toml: {'path.rtt = 20 ms: ' * axes}{says}"), done.err
    assert done.err.count("two.toml") == 1


@pytest.mark.parametrize("file", sorted((ROOT / "scenarios/sweeps").glob("*.toml")), ids=lambda f: f.stem)
def test_every_plan_of_the_project_is_one(file):
    cases = plans.read(file, allow_files=True).cases()
    assert len(cases) > 10
    assert all(c.failure is None for c in cases)


def test_a_scenario_with_tables_over_time_has_them_in_the_sweep(ackclock, tmp_path):
    (tmp_path / "series.toml").write_text(PLAN + '[set]\nseries = "1s"\n')
    done = ackclock("sweep", "series.toml", "--workers", "1")
    assert done.code == 0, done.err
    table = pq.read_table(tmp_path / "runs/series/flow_series.parquet")
    assert table.num_rows == 2 * 2 * 2 and table.column_names[:2] == ["path.rtt", "seed"]
