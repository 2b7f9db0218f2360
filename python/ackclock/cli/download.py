"""The second part of the demonstration, as a process of its own with a single thread:
`python -m ackclock.cli.download FOLDER` prints JSON.
"""

from __future__ import annotations

import json
import sys
from pathlib import Path

from ackclock import _core
from ackclock.cli import helper
from ackclock.plain import plain


def main(folder: str) -> int:
    """Downloads, and prints what was found or which right is missing."""

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
    # A thread of a progress bar would come before the one that enters the namespace: this one has none.
    width = 40
    print(
        f"\r{plain(label)} {'━' * round(share * width):<{width}} {share:4.0%}",
        end="",
        file=sys.stderr,
        flush=True,
    )


if __name__ == "__main__":
    sys.exit(main(sys.argv[1]))
