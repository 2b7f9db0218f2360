"""`ackclock examples`: the files that come with the package."""

from __future__ import annotations

import shlex
from pathlib import Path

import pytest

from ackclock.examples import EXAMPLES, HERE

ROOT = Path(__file__).parents[1]


@pytest.mark.parametrize("example", EXAMPLES, ids=lambda e: e.file)
def test_each_example_is_written_and_its_command_runs(ackclock, tmp_path, example):
    done = ackclock("examples", example.file)
    assert done.code == 0 and example.command in done.err, done
    assert (tmp_path / example.file).read_bytes() == (HERE / example.file).read_bytes()
    ran = ackclock(*shlex.split(example.command)[1:])
    assert ran.code == 0, ran


def test_the_list_has_every_file_of_the_package(ackclock):
    done = ackclock("examples")
    listed = {line.split()[0] for line in done.out.splitlines()[1:]}
    assert listed == {file.name for file in HERE.iterdir() if file.suffix not in (".py", "")}
    assert {row["file"] for row in ackclock("examples", "--json").json} == listed


def test_a_copy_is_what_the_repository_has():
    for e in EXAMPLES:
        if e.source:
            assert e.read() == (ROOT / e.source).read_bytes(), e.file


def test_an_existing_file_is_never_overwritten(ackclock, tmp_path):
    (tmp_path / "series.csv").write_text("mine")
    done = ackclock("examples", "short-lossy.toml", "series.csv")
    assert done.code == 2 and done.is_one_sentence(), done.err
    assert "`series.csv` is here already" in done.err
    assert (tmp_path / "series.csv").read_text() == "mine"
    assert not (tmp_path / "short-lossy.toml").exists(), "all of them or none"
    (tmp_path / "slow.pcap.gz").symlink_to("elsewhere")
    assert ackclock("examples", "slow.pcap.gz").code == 2
    assert not (tmp_path / "elsewhere").exists()


def test_an_unknown_name_is_refused_with_the_known_ones(ackclock, tmp_path):
    done = ackclock("examples", "slow", "../secret")
    assert done.code == 2 and done.is_one_sentence(), done.err
    assert "`../secret` is not an example; expected one of short-lossy.toml, " in done.err
    assert not list(tmp_path.iterdir())
