"""Asks for known vulnerabilities of all that the locks pin: `python requirements/audit.py PIP_AUDIT LOCK...`.

A lock pins versions for every Python and every system, of which pip-audit by itself looks at those for its
own Python alone. Here they go to it in lists without conditions, in which a package stands once. Exit codes:
0 none is known; 1 some are, or a package could not be looked up; 2 pip-audit did not answer.
"""

from __future__ import annotations

import json
import re
import subprocess
import sys
import tempfile
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any

PIN = re.compile(r"^([A-Za-z0-9][A-Za-z0-9._-]*)==([^ ;\\]+)", re.M)


def pins(texts: Iterable[str]) -> list[tuple[str, str]]:
    """Names and versions that locks pin, each pair once."""
    return list(dict.fromkeys(found for text in texts for found in PIN.findall(text)))


def lists(pinned: Sequence[tuple[str, str]]) -> list[list[str]]:
    """The same as lists of requirements: the first version of each package, then the second, and so on."""
    versions: dict[str, list[str]] = {}
    for name, version in pinned:
        versions.setdefault(name, []).append(version)
    most = max(map(len, versions.values()), default=0)
    return [[f"{name}=={v[i]}" for name, v in versions.items() if i < len(v)] for i in range(most)]


def complaints(answer: Any) -> list[str]:
    """A sentence for each vulnerability of an answer of pip-audit, and for each package that it did not look
    up.
    """
    said = []
    for package in answer["dependencies"]:
        if "skip_reason" in package:
            said.append(f"{package['name']} was not audited: {package['skip_reason']}")
        for found in package.get("vulns", []):
            names = ", ".join([found["id"], *found.get("aliases", [])])
            mended = (
                f"mended in {', '.join(found['fix_versions'])}" if found["fix_versions"] else "not mended yet"
            )
            said.append(f"{package['name']} {package['version']} has {names}, {mended}")
    return said


def ask(program: str, requirements: Sequence[str]) -> Any:
    """What pip-audit says of requirements; it looks up these alone, and installs nothing."""
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder) / "requirements.txt"
        file.write_text("".join(f"{r}\n" for r in requirements), encoding="utf-8")
        command = [
            program,
            "--no-deps",
            "--disable-pip",
            "--progress-spinner",
            "off",
            "-f",
            "json",
            "-r",
            str(file),
        ]
        done = subprocess.run(command, capture_output=True, text=True, check=False)
    try:
        return json.loads(done.stdout)
    except ValueError:
        last = (done.stderr.strip().splitlines() or [f"exit code {done.returncode}"])[-1]
        sys.stderr.write(f"pip-audit did not answer: {last}\n")
        raise SystemExit(2) from None


def main(program: str, *locks: str) -> int:
    """Audits the locks."""
    pinned = pins(Path(lock).read_text(encoding="utf-8") for lock in locks)
    if not pinned:
        sys.stderr.write("The locks pin no packages, so there is nothing to audit.\n")
        return 2
    said = [sentence for part in lists(pinned) for sentence in complaints(ask(program, part))]
    for sentence in said:
        print(f"{sentence}.")
    if not said:
        print(f"No vulnerability is known of {len(pinned)} versions of Python packages.")
    return 1 if said else 0


if __name__ == "__main__":
    if len(sys.argv) < 3:
        sys.stderr.write("requirements/audit.py needs the program pip-audit and the locks to look at.\n")
        sys.exit(2)
    sys.exit(main(*sys.argv[1:]))
