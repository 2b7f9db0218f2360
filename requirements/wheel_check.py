"""Installs the newest wheel of a folder into an environment of its own, with no compiler on the path, and
runs the demo from it: `make wheel-check`. The sdist must have what a build from it needs.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tarfile
import tempfile
import venv
import zipfile
from pathlib import Path

NEEDED = (
    "ackclock.data/data/share/bash-completion/completions/ackclock",
    "Cargo.lock",
    "Cargo.toml",
    "pyproject.toml",
    "README.md",
    "python/ackclock/__init__.py",
    "python/ackclock/examples/slow.pcap.gz",
)
SCRIPTS = "Scripts" if sys.platform == "win32" else "bin"


def newest(folder: Path, pattern: str) -> Path:
    """The newest file with that name."""
    found = sorted(folder.glob(pattern), key=lambda file: file.stat().st_mtime)
    if not found:
        raise SystemExit(f"{folder}: no file {pattern}; `make wheel` makes it")
    return found[-1]


def check_wheel(wheel: Path) -> None:
    """What lies in the wheel: one module for all Pythons, man pages and scripts of completion."""
    names = zipfile.ZipFile(wheel).namelist()
    for wanted in ("/_core", "share/man/man1/ackclock.1", "share/bash-completion/completions/ackclock"):
        if not any(wanted in name for name in names):
            raise SystemExit(f"{wheel.name}: no file of it has `{wanted}` in its name")
    if "-cp310-abi3-" not in wheel.name:
        raise SystemExit(f"{wheel.name}: expected a wheel for cp310-abi3")


def check_installed(wheel: Path, folder: Path) -> None:
    """Installs the wheel and runs commands of it."""
    venv.create(folder / "env", with_pip=True)
    bin = folder / "env" / SCRIPTS
    # Neither cargo nor cc, nor the checkout: what runs is what was installed.
    environment = {
        k: v for k, v in os.environ.items() if not k.startswith(("PYTHON", "CARGO", "RUST", "VIRTUAL"))
    }
    environment["PATH"] = f"{bin}{os.pathsep}{'/bin' if os.name == 'posix' else os.environ['PATH']}"
    install = [
        bin / "python",
        "-m",
        "pip",
        "install",
        "-q",
        "--disable-pip-version-check",
        "--only-binary=:all:",
    ]
    subprocess.run([*install, wheel], check=True, env=environment, cwd=folder)

    def run(*arguments: str) -> str:
        done = subprocess.run(
            [bin / "ackclock", *arguments],
            check=True,
            env=environment,
            cwd=folder,
            stdout=subprocess.PIPE,
            text=True,
        )
        return done.stdout

    version = run("--version").split()[-1]
    if f"ackclock-{version}-" not in wheel.name:
        raise SystemExit(f"{wheel.name}: the command says that it is version {version}")
    # What a first user has at hand without the repository.
    run("examples", "short-lossy.toml", "slow.pcap.gz")
    if "timer of a lost SYN" not in run("capture", "slow.pcap.gz"):
        raise SystemExit(f"{wheel.name}: the example of a capture is not explained")
    run("run", "short-lossy.toml", "--set", "workload.flows=20")
    demo = json.loads(run("demo", "--json"))
    stacks = [row["stack"] for row in demo["simulated"]["stacks"]]
    if stacks[0] != "TCP" or not (folder / "runs/demo/backoff/response_time.png").is_file():
        raise SystemExit(f"{wheel.name}: the demo has the stacks {stacks}, and no figure or other ones")
    download = demo["download"]
    said = f"skipped: {download['missing']}" if "missing" in download else f"{download['bytes']} bytes"
    print(
        f"{wheel.name}: installed without a compiler; demo: {len(stacks)} stacks simulated; download {said}."
    )


def main(folder: str) -> None:
    """Checks the wheel and the sdist of a folder."""
    wheel = newest(Path(folder).absolute(), "ackclock-*.whl")
    check_wheel(wheel)
    for sdist in Path(folder).glob("ackclock-*.tar.gz"):
        with tarfile.open(sdist) as packed:
            names = {name.partition("/")[2] for name in packed.getnames()}
        if missing := [name for name in NEEDED if name not in names]:
            raise SystemExit(f"{sdist.name}: {', '.join(missing)} is not in it")
    with tempfile.TemporaryDirectory() as scratch:
        check_installed(wheel, Path(scratch))


if __name__ == "__main__":
    main(sys.argv[1] if len(sys.argv) > 1 else "target/wheels")
