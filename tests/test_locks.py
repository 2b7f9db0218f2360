"""The locks of the Python packages: what `make` installs is what they list, file by file."""

import importlib.util
import itertools
import json
import re
import sys
from pathlib import Path
from typing import Any

import pytest

if sys.version_info >= (3, 11):
    import tomllib
else:
    import tomli as tomllib

ROOT = Path(__file__).parents[1]
LOCKS = sorted((ROOT / "requirements").glob("*.lock"))
PIN = re.compile(r"([a-z0-9][a-z0-9-]*)==([0-9][0-9a-z.]*)( ; [^\\]+)?")
HASH = re.compile(r"--hash=sha256:[0-9a-f]{64}")

_spec = importlib.util.spec_from_file_location("audit", ROOT / "requirements/audit.py")
assert _spec and _spec.loader
audit = importlib.util.module_from_spec(_spec)
_spec.loader.exec_module(audit)


def requirements(lock: Path) -> list[list[str]]:
    """Each requirement with its hashes, comments left out."""
    lines = [line for line in lock.read_text().splitlines() if not line.lstrip().startswith("#")]
    return [[part.strip() for part in text.split("\\\n")] for text in re.split(r"\n(?=\S)", "\n".join(lines))]


@pytest.mark.parametrize("lock", LOCKS, ids=lambda lock: lock.name)
def test_every_requirement_is_one_version_with_the_hashes_of_its_files(lock):
    found = requirements(lock)
    assert found
    for pin, *hashes in found:
        assert PIN.fullmatch(pin.strip()), pin
        assert hashes and all(HASH.fullmatch(h) for h in hashes), pin
        assert len(set(hashes)) == len(hashes), pin


def test_a_lock_holds_files_for_more_than_one_system():
    # NumPy has a file for each Python and system, and its source.
    numpy = [
        hashes for pin, *hashes in requirements(ROOT / "requirements/main.lock") if pin.startswith("numpy==")
    ]
    assert len(numpy) > 1 and all(len(hashes) > 20 for hashes in numpy)


def test_make_installs_nothing_from_a_lock_without_its_hashes():
    makefile = (ROOT / "Makefile").read_text()
    (flags,) = re.findall(r"^INSTALL := (.*)$", makefile, re.M)
    assert "--require-hashes" in flags and "--no-deps" in flags
    for lock in LOCKS:
        installs = [
            line
            for line in makefile.splitlines()
            if line.startswith("\t") and f"-r requirements/{lock.name}" in line
        ]
        assert len(installs) == 1 and "$(INSTALL)" in installs[0], lock.name
    # Whatever else installs brings pip into an environment without it, and nothing more.
    others = [
        line for line in makefile.splitlines() if "install -q" in line and not line.startswith("INSTALL")
    ]
    assert all(
        line.strip().startswith("||") and line.rstrip().endswith("install -q pip; } \\") for line in others
    ), others


def test_make_lock_asks_for_hashes_for_every_system():
    makefile = (ROOT / "Makefile").read_text()
    (compile_,) = re.findall(r"^COMPILE := (.*)$", makefile, re.M)
    assert "--generate-hashes" in compile_ and "--universal" in compile_
    assert all(f"-o requirements/{lock.name}" in makefile for lock in LOCKS)


def test_every_rust_dependency_from_elsewhere_has_a_version():
    # cargo-deny would take ours, which go by path, for any version too (deny.toml).
    manifests = [ROOT / "Cargo.toml", ROOT / "fuzz/Cargo.toml", *sorted(ROOT.glob("crates/*/Cargo.toml"))]
    seen = 0
    for manifest in manifests:
        found = tomllib.loads(manifest.read_text())
        for table in tables(found):
            for name, given in table.items():
                wanted = given if isinstance(given, dict) else {"version": given}
                if not wanted.get("workspace") and "path" not in wanted:
                    seen += 1
                    assert re.fullmatch(r"[0-9]+(\.[0-9]+)*", wanted["version"]), f"{manifest}: {name}"
    assert seen > 20


def tables(manifest: dict[str, Any]) -> list[dict[str, Any]]:
    """The tables of dependencies, those of targets too."""
    kinds = ("dependencies", "dev-dependencies", "build-dependencies")
    parts = [manifest, manifest.get("workspace", {}), *manifest.get("target", {}).values()]
    return [part[kind] for part in parts for kind in kinds if kind in part]


def test_every_exception_for_rust_dependencies_has_its_reason():
    for file in ("deny.toml", "fuzz/deny.exceptions.toml"):
        lines = (ROOT / file).read_text().splitlines()
        for before, line in itertools.pairwise(lines):
            if line.lstrip().startswith("{ crate"):
                assert "reason = " in line or before.lstrip().startswith(("#", "{ crate")), line
    assert tomllib.loads((ROOT / "deny.toml").read_text())["advisories"]["ignore"] == []


def test_the_audit_asks_for_every_version_that_a_lock_pins():
    numpy = [v for name, v in audit.pins([(ROOT / "requirements/main.lock").read_text()]) if name == "numpy"]
    assert len(numpy) == 3
    everything = audit.pins(lock.read_text() for lock in LOCKS)
    found = audit.lists(everything)
    assert sorted(r for part in found for r in part) == sorted(
        f"{name}=={version}" for name, version in everything
    )
    for part in found:
        assert len({r.split("==")[0] for r in part}) == len(part)


ANSWER = {
    "dependencies": [
        {"name": "good", "version": "1", "vulns": []},
        {
            "name": "bad",
            "version": "2",
            "vulns": [{"id": "PYSEC-1", "aliases": ["CVE-1"], "fix_versions": ["2.1"]}],
        },
        {"name": "worse", "version": "3", "vulns": [{"id": "PYSEC-2", "aliases": [], "fix_versions": []}]},
        {"name": "unseen", "skip_reason": "not found"},
    ]
}


@pytest.mark.skipif(sys.platform == "win32", reason="a shell script stands for pip-audit")
@pytest.mark.parametrize(
    ("answer", "code"), [(ANSWER, 1), ({"dependencies": ANSWER["dependencies"][:1]}, 0), (None, 2)]
)
def test_what_was_not_audited_is_not_reported_as_safe(tmp_path, capsys, answer, code):
    (tmp_path / "a.lock").write_text('bad==2 ; python_version < "3" \\\n    --hash=sha256:0\nbad==2.1\n')
    program = tmp_path / "pip-audit"
    program.write_text(
        "#!/bin/sh\necho no network >&2\n" + (f"echo '{json.dumps(answer)}'\n" if answer else "exit 1\n")
    )
    program.chmod(0o755)
    try:
        assert audit.main(str(program), str(tmp_path / "a.lock")) == code
    except SystemExit as e:
        assert e.code == code
    said = capsys.readouterr()
    if code == 1:
        assert "bad 2 has PYSEC-1, CVE-1, mended in 2.1." in said.out
        assert "worse 3 has PYSEC-2, not mended yet." in said.out
        assert "unseen was not audited: not found." in said.out
    elif code == 2:
        assert said.err == "pip-audit did not answer: no network\n"


def test_make_audit_says_what_it_needs():
    makefile = (ROOT / "Makefile").read_text()
    assert "make audit needs cargo-deny: cargo install --locked cargo-deny" in makefile
    (rule,) = re.findall(r"^audit: (.*)\n((?:\t.*\n)+)", makefile, re.M)
    assert "fuzz/Cargo.toml" in rule[1] and "requirements/*.lock" in rule[1]
    # Tests do without the network.
    assert not re.search(r"^(test|test-rust|test-python):.*audit", makefile, re.M)


def needed(manifest: dict[str, Any]) -> set[str]:
    """Crates that are built with it, on whatever system, but for its tests and its optional ones."""
    tables = [manifest, *manifest.get("target", {}).values()]
    chosen = [table.get(kind, {}) for table in tables for kind in ("dependencies", "build-dependencies")]
    return {
        crate.get("package", name) if isinstance(crate, dict) else name
        for crates in chosen
        for name, crate in crates.items()
        if not (isinstance(crate, dict) and crate.get("optional"))
    }


@pytest.mark.parametrize("lock", ["Cargo.lock", "fuzz/Cargo.lock", "examples/quinn/Cargo.lock"])
def test_every_lock_of_crates_has_what_ours_need(lock):
    # The fuzz targets and the example have locks of their own, which a new dependency must reach, too.
    found = {p["name"]: p for p in tomllib.loads((ROOT / lock).read_text())["package"]}
    ours = [name for name, p in found.items() if name.startswith("ackclock-") and "source" not in p]
    assert len(ours) > 5
    for name in ours:
        manifest = ROOT / "crates" / name / "Cargo.toml"
        if not manifest.exists():
            continue
        listed = {entry.split(" ")[0] for entry in found[name].get("dependencies", [])}
        missing = needed(tomllib.loads(manifest.read_text())) - listed
        assert not missing, f"{lock}: {name} lacks {sorted(missing)}; run `cargo metadata` beside it"
