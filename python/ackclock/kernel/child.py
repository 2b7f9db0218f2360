"""The process that runs a scenario on the testbed. It reads from standard input what to run, JSON, and
tells what came of it through standard output.
"""

from __future__ import annotations

import json
import sys
import time
from typing import Any

from ackclock import _core
from ackclock.kernel import pipe


def work_of_standard_input() -> None:
    """Does the work that standard input describes, and prints progress as lines of JSON."""
    work = json.load(sys.stdin)
    try:
        _run(work)
    except _core.AckclockError as e:
        pipe.say(sys.stdout.buffer, error=type(e).__name__, sentence=str(e))


def _run(work: dict[str, Any]) -> None:
    if not hasattr(_core, "testbed"):
        raise _core.MissingRightError(
            "the testbed needs Linux (network namespaces and /dev/net/tun); simulations run everywhere"
        )
    began = time.perf_counter()
    capture = None if work["capture"] is None else f"/proc/self/fd/{work['capture']}"
    result, told = _core.testbed(
        work["text"],
        [(key, value) for key, value in work["overrides"]],
        work["name"],
        work["folder"],
        lambda share, label: pipe.say(sys.stdout.buffer, share=share, label=label),
        work["allow_files"],
        # A file that is open, without a name.
        capture,
    )
    # They start threads, which must not exist before.
    from ackclock.results.encoded import encode
    from ackclock.results.run import host, of_result

    about = {
        "scenario": work["name"],
        "title": result.title,
        "seeds": result.seeds,
        "warmup": result.warmup,
        "events": result.events,
        "seconds": round(time.perf_counter() - began, 3),
        "version": _core.version,
        "host": host(),
        "world": "kernel",
        "testbed": json.loads(told),
        "checks": [
            {"name": "every byte arrived once, in order and unchanged", "holds": True},
            {"name": "the emulator kept time", "holds": True},
        ],
    }
    pipe.send(sys.stdout.buffer, encode(of_result(result, about)))


if __name__ == "__main__":
    from ackclock.cli import helper

    sys.exit(helper(work_of_standard_input))
