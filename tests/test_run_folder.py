"""Run folders: complete or not there at all, and the same bytes for the same tables."""

from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import ackclock as ac
from ackclock.results import Run, folder
from ackclock.results.summary import counted, response_times


def made_up_run(scale: float = 1.0) -> Run:
    flows = pa.table(
        {
            "stack": ["tcp"] * 4 + ["none"] * 4,
            "start": [0.0, 1.0, 2.0, 3.0] * 2,
            "size": pa.array([1000] * 8, pa.uint64()),
            "response_time": pa.array([0.1, 0.5, 2.0, None, 0.1, 0.4, 1.0, 3.0]),
            "outcome": [
                "finished",
                "finished",
                "finished",
                "unfinished",
                "finished",
                "finished",
                "finished",
                "failed",
            ],
        }
    )
    links = pa.table({"stack": ["tcp", "none"], "name": ["bottleneck"] * 2, "packets": [10, 20]})
    stacks = [{"stack": "tcp", "mean": 0.87 * scale}, {"stack": "none", "mean": 0.5}]
    return Run("seed = 1\n", flows, links, stacks, {"title": "made up", "seeds": [1], "warmup": 1.0})


def names(directory: Path) -> set[str]:
    return {p.name for p in directory.iterdir()}


def test_a_run_folder_holds_all_and_reads_back(tmp_path):
    run = made_up_run()
    written = run.save(tmp_path / "a" / "run")
    assert names(written) == {
        "scenario.toml",
        "flows.parquet",
        "links.parquet",
        "summary.json",
        "ackclock.json",
        "response_time.png",
        "response_time.svg",
    }
    assert names(tmp_path / "a") == {"run"}
    again = ac.load(written)
    assert (again.scenario, again.stacks, again.about) == (run.scenario, run.stacks, run.about)
    assert again.flows.equals(run.flows)
    assert again.links.equals(run.links)


def test_the_same_tables_give_the_same_bytes(tmp_path):
    first, second = made_up_run().save(tmp_path / "1"), made_up_run().save(tmp_path / "2")
    for name in names(first):
        assert (first / name).read_bytes() == (second / name).read_bytes(), name


def test_an_earlier_run_is_replaced_and_nothing_else(tmp_path):
    target = tmp_path / "run"
    made_up_run().save(target)
    made_up_run(2.0).save(target)
    assert ac.load(target).stacks[0]["mean"] == 0.87 * 2
    assert names(tmp_path) == {"run"}
    (tmp_path / "mine").mkdir()
    (tmp_path / "mine" / "thesis.tex").write_text("x")
    with pytest.raises(ac.InputError, match="holds other files"):
        made_up_run().save(tmp_path / "mine")
    with pytest.raises(ac.InputError, match="is a file"):
        made_up_run().save(tmp_path / "mine" / "thesis.tex")
    assert names(tmp_path / "mine") == {"thesis.tex"}


def test_an_interrupted_write_leaves_what_was_there(tmp_path):
    target = made_up_run().save(tmp_path / "run")

    def fill(directory):
        (directory / "flows.parquet").write_text("half")
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        folder.write(target, fill)
    with pytest.raises(KeyboardInterrupt):
        folder.write(tmp_path / "new", fill)
    assert names(tmp_path) == {"run"}
    assert pq.read_table(target / "flows.parquet").num_rows == 8


def test_a_folder_that_is_no_run_is_refused(tmp_path):
    with pytest.raises(ac.InputError, match=r"holds no summary\.json"):
        ac.load(tmp_path)


def test_failed_flows_and_those_of_the_warm_up_do_not_count():
    flows = counted(made_up_run().flows, 1.0)
    assert flows.num_rows == 6
    assert sorted(response_times(flows)) == [0.4, 0.5, 1.0, 2.0]


def test_a_figure_of_an_unknown_column_is_refused():
    with pytest.raises(ac.InputError, match="`latency` is not a column of the flows"):
        made_up_run().plot.ccdf("latency")


def test_the_ccdf_counts_values_at_least_as_large():
    from ackclock.plot.ccdf import points

    x, share = points([1.0, 2.0, 2.0, 4.0])
    assert x.tolist() == [1.0, 2.0, 4.0]
    assert share.tolist() == [1.0, 0.75, 0.25]
