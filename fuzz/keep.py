"""Chooses the inputs that the tree keeps in `seeds/`, for the targets given: libFuzzer's smallest set of
inputs that reaches what all known ones reach, and of a large set as many as are replayed in a second.
"""

from __future__ import annotations

import hashlib
import os
import subprocess
import sys
import tempfile
from pathlib import Path

FUZZ = Path(__file__).parent
MOST = 60
"""Inputs of a target."""
LONGEST = 1024
"""Bytes of an input."""


def keep(target: str) -> int:
    """Renews the seeds of a target; returns how many there are."""
    seeds, corpus = FUZZ / "seeds" / target, FUZZ / "corpus" / target
    for folder in (seeds, corpus):
        folder.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory() as chosen:
        subprocess.run(
            [
                *("cargo", "fuzz", "run", "-s", "none", target, chosen, str(seeds), str(corpus)),
                *("--", "-set_cover_merge=1", f"-max_len={LONGEST}"),
            ],
            cwd=FUZZ,
            env={**os.environ, "RUSTC_BOOTSTRAP": "1"},
            check=True,
        )
        # The merge reads a longer input only up to the limit, but writes it whole.
        inputs = {file.read_bytes()[:LONGEST] for file in Path(chosen).iterdir()}
    # Evenly over the sizes, of which neither the small nor the large ones alone reach everything.
    ordered = sorted(inputs, key=lambda i: (len(i), i))
    step = max(1.0, len(ordered) / MOST)
    kept = {ordered[int(i * step)] for i in range(min(MOST, len(ordered)))}
    for file in seeds.iterdir():
        file.unlink()
    for data in kept:
        (seeds / hashlib.sha1(data, usedforsecurity=False).hexdigest()).write_bytes(data)
    return len(kept)


if __name__ == "__main__":
    for name in sys.argv[1:]:
        print(f"{name}: {keep(name)} inputs")
