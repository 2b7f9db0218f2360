"""A paper is one folder: commands, records and pages know what lies in it."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from ackclock.reproduce import ITEMS, PAPERS
from ackclock.reproduce.papers import order, paper_of

DECLARATION = """
from ackclock.reproduce.papers import Paper

PAPER = Paper(prefix="T24", title="Toy 2024", citation="Toy, \\"One item\\" (2024)", order=2.5)
"""
ITEM = '''
import pyarrow as pa

from ackclock.plot import style
from ackclock.reproduce.item import Outcome, exactly, item


@item("T24-E1", kind="CF", title="Twice two", choices={"numbers": "whole ones"})
def reproduce(setting):
    """Two doubled."""
    fig, axes = style.figure("Twice two", "a line")
    axes.plot([0, 2], [0, 4])
    checks = [exactly("2 + 2", 2 + 2, 4)]
    return Outcome(checks, {"sum": pa.table({"sum": [4]})}, {"line": fig}, ["A note."])
'''


@pytest.fixture
def toy(tmp_path: Path) -> Path:
    """A folder that holds the folder of a paper with one item."""
    folder = tmp_path / "papers" / "toy2024"
    folder.mkdir(parents=True)
    (folder / "__init__.py").write_text(DECLARATION)
    (folder / "e1_twice_two.py").write_text(ITEM)
    return folder.parent


@pytest.fixture
def with_toy(toy: Path, tmp_path: Path):
    """Runs Python with that folder named in the environment."""

    def run(*arguments: str) -> subprocess.CompletedProcess[str]:
        return subprocess.run(
            [sys.executable, *arguments],
            cwd=tmp_path,
            env={**os.environ, "ACKCLOCK_PAPERS": str(toy)},
            capture_output=True,
            text=True,
            timeout=120,
            check=False,
        )

    return run


def test_a_new_folder_is_listed_in_its_place(with_toy):
    done = with_toy("-m", "ackclock", "reproduce", "--list", "--json")
    assert done.returncode == 0, done.stderr
    listed = json.loads(done.stdout)
    (toy,) = (row for row in listed if row["id"] == "T24-E1")
    assert toy == {
        "id": "T24-E1",
        "paper": "toy2024",
        "kind": "CF",
        "title": "Twice two",
        "holds": None,
        "verdict": None,
        "decides": "no run at the paper's size yet",
    }
    papers = list(dict.fromkeys(row["paper"] for row in listed))
    assert papers.index("mathis97") < papers.index("toy2024") < papers.index("eifel2000")
    assert set(PAPERS) < set(papers)


@pytest.mark.parametrize("name", ["toy2024", "t24-e1"])
def test_its_item_runs_by_the_name_of_the_paper_and_by_its_id(with_toy, tmp_path, name):
    done = with_toy("-m", "ackclock", "reproduce", name, "--json")
    assert done.returncode == 0, done.stderr
    found = json.loads((tmp_path / "runs/reproduce/T24-E1/summary.json").read_text())
    assert found["paper"] == "toy2024"
    assert found["holds"] is True
    assert found["choices"] == {"numbers": "whole ones"}
    assert (tmp_path / "runs/reproduce/T24-E1/sum.parquet").is_file()


WITH_PAGES_IN = """
import sys
from pathlib import Path

from ackclock.reproduce import pages

pages.FOLDER = Path(sys.argv[1])
pages.IMAGES = pages.FOLDER / "images"
"""


def test_its_verdict_lies_in_its_folder_and_its_page_is_written_from_that(with_toy, toy, tmp_path):
    done = with_toy("-m", "ackclock.reproduce.verdicts", "toy2024")
    assert done.returncode == 0, done.stderr
    kept = json.loads((toy / "toy2024" / "verdicts.json").read_text())
    assert kept["T24-E1"]["verdict"] == "holds"
    assert kept["T24-E1"]["checks"] == [{"name": "2 + 2", "expected": "4", "got": "4", "holds": True}]
    made = tmp_path / "pages"
    run = WITH_PAGES_IN + "sys.exit(pages.main(['toy2024']) or pages.PAPERS['toy2024'].ids() != {})"
    done = with_toy("-c", run, str(made))
    assert done.returncode == 0, done.stderr
    page = (made / "toy2024.md").read_text()
    assert '# Toy, "One item" (2024)\n' in page
    assert "| formulas | 1 | 1 | 0 | 0 | 0 | 0 | 1 |" in page
    for part in (
        "## T24-E1: Twice two\n\n**Holds.**",
        "| yes | 2 + 2 | 4 | 4 |",
        "| numbers | whole ones |",
        "- A note.",
        "![T24-E1: Twice two](images/T24-E1-line.png)",
    ):
        assert part in page
    assert "contradicts itself" not in page
    assert (made / "images" / "T24-E1-line.png").is_file()
    assert [f.name for f in made.iterdir() if f.is_file()] == ["toy2024.md"]


def test_the_index_and_the_list_of_items_have_it(with_toy):
    run = "import sys; sys.path.insert(0, sys.argv[1]); import generate as g; print(g.index(), g."
    done = with_toy("-c", run + "reproductions())", str(Path(__file__).parents[1] / "docs"))
    assert done.returncode == 0, done.stderr
    assert "  - [Toy 2024](papers/toy2024.md)\n" in done.stdout
    row = '| <a id="t24-e1"></a>[T24-E1](papers/toy2024.md#t24-e1-twice-two) | CF | Twice two |'
    assert row in done.stdout
    assert "## T24-E1: Twice two\n\nWhat the paper leaves unstated" in done.stdout


@pytest.mark.parametrize(
    ("file", "text", "says"),
    [
        ("__init__.py", "", "declares no `PAPER`"),
        ("__init__.py", DECLARATION.replace("T24", "t24"), "the prefix is `t24`"),
        ("__init__.py", DECLARATION.replace("T24", "M"), "the prefix `M` is that of mathis97"),
        ("e1_twice_two.py", ITEM.replace("T24-E1", "M-E99"), "M-E99 has the prefix of mathis97"),
        ("e1_twice_two.py", ITEM.replace("T24-E1", "T25-E1"), "T25-E1 begins with the prefix of no paper"),
        ("e1_twice_two.py", ITEM.replace("T24-E1", "T24-Z1"), "T24-Z1 is no id"),
        ("e2_twice_two.py", ITEM, "T24-E1 is declared twice"),
    ],
)
def test_an_invalid_folder_is_refused(with_toy, toy, file, text, says):
    (toy / "toy2024" / file).write_text(text)
    done = with_toy("-m", "ackclock", "reproduce", "--list")
    assert done.returncode == 2
    assert done.stderr.count("\n") == 1
    assert says in done.stderr


def test_two_folders_of_one_name_are_refused(with_toy, toy):
    (toy / "toy2024").rename(toy / "mathis97")
    done = with_toy("-m", "ackclock", "reproduce", "--list")
    assert done.returncode == 2
    assert "there are two papers `mathis97`" in done.stderr


def test_a_folder_that_is_not_there_is_refused_in_a_sentence(tmp_path):
    environment = {**os.environ, "ACKCLOCK_PAPERS": str(tmp_path / "nowhere")}
    command = [sys.executable, "-m", "ackclock", "reproduce", "--list"]
    done = subprocess.run(command, env=environment, capture_output=True, text=True, check=False)
    assert done.returncode == 2
    assert done.stderr.count("\n") == 1
    assert "nowhere`, which is not a folder" in done.stderr


@pytest.mark.parametrize("paper", [pytest.param(p, id=p.name) for p in PAPERS.values() if p.register])
def test_every_id_of_a_register_has_its_item_and_every_item_its_id(paper):
    wanted = paper.ids()
    there = [id for id, marks in wanted.items() if "missing" not in marks]
    assert there == [i.id for i in ITEMS.values() if i.paper == paper.name]
    assert all(("beyond" in marks) == ("-S" in id) for id, marks in wanted.items())


@pytest.mark.parametrize("paper", PAPERS.values(), ids=list(PAPERS))
def test_a_paper_says_what_it_is(paper):
    assert paper.citation.endswith(")")
    assert paper.title
    assert all(paper_of(id) is paper for id in paper.ids())


def test_ids_sort_by_paper_then_kind_then_number():
    ids = ["B-A1", "M-F10", "M-F2b", "M-F2a", "M-A3", "J-U1"]
    assert sorted(ids, key=order) == ["J-U1", "M-A3", "M-F2a", "M-F2b", "M-F10", "B-A1"]
