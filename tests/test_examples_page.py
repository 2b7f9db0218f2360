"""The page of worked examples: what `make docs` prints there is compared by `docs/generate.py --check`."""

import re
import sys
from pathlib import Path

import pytest

from ackclock.plot.drawn import digest, digest_of_image

DOCS = Path(__file__).parent.parent / "docs"
sys.path.insert(0, str(DOCS))

import examples  # noqa: E402


@pytest.mark.parametrize("example", examples.EXAMPLES, ids=lambda e: e.name)
def test_an_example_has_its_command_and_its_figure(example):
    page = (DOCS / "examples.md").read_text(encoding="utf-8")
    assert f"    $ {example.command}\n" in page
    assert f"(images/{example.image.name})" in page
    assert example.image.stat().st_size < 150_000


@pytest.mark.parametrize("example", examples.EXAMPLES, ids=lambda e: e.name)
def test_the_image_of_an_example_draws_what_its_command_draws(example):
    assert digest(example.figure()) == digest_of_image(example.image), (
        f"run `python docs/examples.py {example.name}`"
    )


def test_no_figure_of_an_example_is_left_over():
    shown = {example.image.name for example in examples.EXAMPLES}
    assert {file.name for file in (DOCS / "images").glob("example-*.png")} == shown


def test_an_example_prints_what_the_page_has():
    policer = next(e for e in examples.EXAMPLES if e.name == "policer")
    page = (DOCS / "examples.md").read_text(encoding="utf-8")
    assert policer.section() in page
    assert re.search(r"(?m)^    cubic +1 +4\.\d+ Mbit/s", page)
