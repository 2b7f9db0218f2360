"""One window of time for every number of a row, in the command and in Python."""

from __future__ import annotations

import pytest

import ackclock as ac

SCENARIO = """
duration = "12s"
KEY
[path]
kind = "dumbbell"
rtt = "50ms"
bottleneck = { rate = "2Mbit/s", queue = { kind = "drop-tail", limit = "10packets" } }
[[workload]]
kind = "bulk"
flows = 5
[[workload]]
kind = "telnet"
flows = 2
think = "300ms"
[stacks]
tcp = "sack"
"""


def text(key: str = "") -> str:
    return SCENARIO.replace("KEY", key)


@pytest.mark.parametrize("key", ["warmup", "measure_from"])
def test_the_table_says_which_window_its_numbers_cover(ackclock, tmp_path, key):
    (tmp_path / "late.toml").write_text(text(f'{key} = "4s"\ndrain = "5s"'))
    done = ackclock("run", "late.toml")
    assert done.code == 0
    assert (
        "Every number counts from 4 s on, to 12 s; flows that began then are followed to their end, for at "
        "most 5 s more."
    ) in done.out
    found = ac.load(tmp_path / "runs" / "late")
    assert found.about["warmup"] == 4.0
    assert set(found.flows["measured_from"].to_pylist()) == {4.0}
    (tmp_path / "whole.toml").write_text(text())
    assert "counts from" not in ackclock("run", "whole.toml").out


def test_flows_that_cannot_finish_are_not_called_unfinished(ackclock, tmp_path):
    (tmp_path / "endless.toml").write_text(text('warmup = "4s"'))
    out = ackclock("run", "endless.toml").out
    assert "7 endless" in out
    assert "0 of" not in out


def test_a_window_of_each_flow_leaves_links_without_numbers(ackclock, tmp_path):
    (tmp_path / "after.toml").write_text(text("measure_after = 1"))
    done = ackclock("run", "after.toml", "--json")
    assert (done.json["stacks"][0]["loss"], done.json["stacks"][0]["goodput"]) == (None, None)
    assert "from the end of its loss episode 1 on" in ackclock("run", "after.toml").out


def test_figures_show_the_flows_that_the_table_counts():
    run = ac.Scenario(text('warmup = "4s"')).simulate()
    named = {
        label.get_text().split("   ")[0]
        for label in run.plot.ccdf("goodput").axes[0].get_legend().get_texts()
    }
    assert named == {"tcp"}
    assert run.stacks[0]["flows"] == 7
    response = run.plot.ccdf("response_time").axes[0].get_lines()[0]
    assert len(response.get_xdata()) > 1, "flows that began before the warm-up and never end"
