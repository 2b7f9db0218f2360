from __future__ import annotations

import ast
import inspect
import re
import sys
from pathlib import Path

import pytest

import ackclock as ac
from ackclock import _core

ROOT = Path(__file__).parents[1]
BLOB, TREE = (f"https://github.com/ackclock/ackclock/{kind}/main/" for kind in ("blob", "tree"))
"""Where files and folders of the repository are, for a page that is shown elsewhere too."""


def test_the_package_and_its_compiled_part_have_one_version():
    assert ac.__version__ == _core.version


def test_the_stubs_name_what_the_module_has():
    tree = ast.parse((ROOT / "python/ackclock/_core.pyi").read_text())
    declared = {n.name: n for n in tree.body if isinstance(n, ast.ClassDef | ast.FunctionDef)}
    names = {n for n in vars(_core) if not n.startswith("_")} - {"version"}
    if sys.platform != "linux":
        del declared["download_demo"]
    assert set(declared) == names
    for name, node in declared.items():
        thing = getattr(_core, name)
        if isinstance(node, ast.FunctionDef):
            assert [a.arg for a in node.args.args] == list(inspect.signature(thing).parameters), name
        else:
            members = {n.name for n in node.body if isinstance(n, ast.FunctionDef)}
            assert members <= set(dir(thing)), name
            if not issubclass(thing, Exception):
                assert {m for m in vars(thing) if not m.startswith("__")} <= members, name


def test_the_exceptions_form_one_tree():
    errors = [e for e in vars(_core).values() if isinstance(e, type) and issubclass(e, Exception)]
    assert len(errors) == 8
    assert all(issubclass(e, ac.AckclockError) for e in errors)


def test_every_name_that_is_offered_is_there():
    for name in dir(ac):
        assert getattr(ac, name) is not None
    assert not hasattr(ac, "Redd")


def test_policy_classes_show_their_declaration():
    assert next(iter(inspect.signature(ac.SubExponential).parameters)) == "n"
    assert "Source: Mondal & Kuzmanovic 2008." in ac.SubExponential.__doc__
    assert repr(ac.Rfc6298(min_rto="1s")) == "Rfc6298(min_rto='1s')"
    assert ac.Rfc6298(min_rto="1s") == ac.Rfc6298(min_rto="1s") != ac.Rfc6298()
    assert ac.SubExponential(n=float("inf")).to_scenario() == {"kind": "sub-exponential", "n": "inf"}
    assert ac.fault.SegmentLoss is not None
    assert {"load", "trace", "sizes", "rtt"} <= set(inspect.signature(ac.Web).parameters)


def fenced(text: str, language: str) -> list[str]:
    return re.findall(rf"```{language}\n(.*?)```", text, re.S)


def test_the_scenario_of_the_readme_resolves():
    readme = (ROOT / "README.md").read_text()
    block = re.search(r"## A scenario\n\n((?:    .*\n)+)", readme)[1]
    text = "\n".join(line[4:] for line in block.splitlines())
    assert len(text.splitlines()) <= 10
    resolved = ac.Scenario(text).resolve()
    assert "[stacks.three.backoff]" in resolved or "sub-exponential" in resolved


def test_the_python_of_the_readme_runs():
    (code,) = fenced((ROOT / "README.md").read_text(), "python")
    assert code.count("seed=1") == 1
    scope: dict[str, object] = {}
    exec(code.replace("seed=1", 'seed=1, duration="2s"'), scope)
    assert scope["run"].flows.num_rows > 0


@pytest.mark.parametrize("page", sorted(p.name for p in (ROOT / "docs").glob("*.md")))
def test_links_between_pages_lead_somewhere(page):
    text = (ROOT / "docs" / page).read_text()
    for target in re.findall(r"\]\(([^)#:]+)(?:#[^)]*)?\)", text):
        assert (ROOT / "docs" / target).exists(), target


def test_security_names_tests_that_there_are():
    text = (ROOT / "SECURITY.md").read_text()
    named = re.findall(r"`((?:tests|crates|fuzz)/[^`]*)`", text) + re.findall(r"\]\(([^)#:]+)", text)
    assert len(named) > 15
    for path in named:
        assert (ROOT / path).exists(), path
    assert f"({BLOB}SECURITY.md)" in (ROOT / "README.md").read_text()


def test_the_reference_pages_are_up_to_date():
    import subprocess

    done = subprocess.run(
        [sys.executable, ROOT / "docs/generate.py", "--check"], capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr


def test_every_place_that_names_a_version_names_this_one():
    version = ac.__version__
    assert f"\nversion: {version}\n" in (ROOT / "CITATION.cff").read_text()
    assert f"\n## {version} (" in (ROOT / "CHANGELOG.md").read_text()


def test_the_readme_has_images_that_show_elsewhere():
    text = (ROOT / "README.md").read_text()
    images = re.findall(r"!\[[^\]]*\]\(([^)]*)\)", text)
    begin = "https://raw.githubusercontent.com/ackclock/ackclock/main/"
    assert images
    for image in images:
        assert image.startswith(begin) and (ROOT / image.removeprefix(begin)).is_file(), image


@pytest.mark.parametrize("workflow", sorted((ROOT / ".github/workflows").glob("*.yml")), ids=lambda f: f.name)
def test_what_the_hosted_checks_call_is_a_target_of_make(workflow):
    targets = set(re.findall(r"^([a-z-]+):(?!=)", (ROOT / "Makefile").read_text(), re.M)) | {"site"}
    called = re.findall(r"\bmake ([a-z-]+)", workflow.read_text())
    assert called or "maturin" in workflow.read_text()
    assert set(called) <= targets, set(called) - targets


def test_the_readme_has_links_that_lead_somewhere_on_pypi():
    text = (ROOT / "README.md").read_text()
    targets = re.findall(r"(?<!!)\[[^\]]+\]\(([^)\s]+)\)", text)
    assert len(targets) > 10
    for target in targets:
        kind = next((k for k in (BLOB, TREE) if target.startswith(k)), None)
        assert kind, f"{target} is relative, or of elsewhere"
        place = ROOT / target.removeprefix(kind).partition("#")[0]
        assert place.is_file() if kind == BLOB else place.is_dir(), target
