"""Runs a command of ackclock with the extension module of this folder, which it builds first:
`python examples/quinn/run.py passport quinn-cubic --stack rack`.
"""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

HERE = Path(__file__).resolve().parent
PACKAGE = HERE.parent.parent / "python/ackclock"
LIBRARY = {"darwin": "libackclock_quinn.dylib", "win32": "ackclock_quinn.dll"}.get(
    sys.platform, "libackclock_quinn.so"
)


def build() -> Path:
    """Builds the module, and returns a folder with a package `ackclock` that has it."""
    # As maturin builds it.
    environment = os.environ | {"PYO3_BUILD_EXTENSION_MODULE": "1", "PYO3_PYTHON": sys.executable}
    subprocess.run(["cargo", "build", "--release", "--locked", "-q"], cwd=HERE, env=environment, check=True)
    folder = HERE / "target/package"
    (folder / "ackclock").mkdir(parents=True, exist_ok=True)
    wanted = {file.name: file for file in PACKAGE.iterdir() if not file.name.startswith("_core.")}
    for old in (folder / "ackclock").iterdir():
        old.unlink()
    for name, file in {**wanted, "_core.abi3.so": HERE / "target/release" / LIBRARY}.items():
        (folder / "ackclock" / name).symlink_to(file)
    return folder


def main() -> int:
    """Builds, and runs the command."""
    environment = os.environ | {"PYTHONPATH": str(build())}
    return subprocess.run([sys.executable, "-m", "ackclock", *sys.argv[1:]], env=environment).returncode


if __name__ == "__main__":
    sys.exit(main())
