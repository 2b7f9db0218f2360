"""The second part of `ackclock demo`, as a single-threaded process: `python -m ackclock.cli.download FOLDER`
prints JSON.
"""

from __future__ import annotations

import json
import sys
from pathlib import Path

from ackclock import _core
from ackclock.cli import helper
from ackclock.plain import plain


def main(folder: str) -> int:
    """Downloads, and prints the results or which permission is missing."""

    def download() -> None:
        try:
            print(
                _core.download_demo(
                    Path(folder), Path(sys.executable), _progress if sys.stderr.isatty() else None
                )
            )
        except _core.MissingRightError as e:
            print(json.dumps({"missing": str(e)}))
        finally:
            if sys.stderr.isatty():
                print("\r\033[K", end="", file=sys.stderr, flush=True)

    return helper(download)


def _progress(share: float, label: str) -> None:
    # A progress bar with a thread would keep the process from entering the namespace: this one has none.
    width = 40
    print(
        f"\r{plain(label)} {'━' * round(share * width):<{width}} {share:4.0%}",
        end="",
        file=sys.stderr,
        flush=True,
    )


if __name__ == "__main__":
    sys.exit(main(sys.argv[1]))
