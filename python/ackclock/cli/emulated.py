"""Probes and transfers over emulated paths, in a single-threaded process, which may enter a user namespace.

`python -m ackclock.cli.emulated` reads a list of runs from standard input, JSON. A probe has `path` (a
scenario), `settings`, and if wanted `address`, `ttl` and `limit`; a transfer of the kernel's own TCP has
`path`, `seconds`, `parameters` of the kernels, and `capture`, the file to write; web transfers have
`scenario`, and if wanted `parameters`, `options` of the sockets, `server_closes` and `capture`; flows with an
application at each end have `flows` in its place, a scenario too, and if wanted `carriers` (of the clients'
end and of the servers', `kernel` or `engine`), `parameters`, `options`, `quick_acks` and `capture`. It prints
a list of the results of each, or under `missing` the permission or system that it lacks.
"""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Any

from ackclock import _core
from ackclock.cli import helper

FAR = "10.78.0.2"
"""The kernel at the other end of the path; 10.78.1.9 is an address behind it."""


def main() -> int:
    """Runs what standard input asks for."""

    def run() -> None:
        runs = json.load(sys.stdin)
        try:
            json.dump([one(run) for run in runs], sys.stdout)
        except _core.MissingRightError as e:
            json.dump({"missing": str(e)}, sys.stdout)

    return helper(run)


def one(run: dict[str, Any]) -> Any:
    """The results of one run."""
    if not hasattr(_core, "probe_emulated"):
        raise _core.MissingRightError(
            "real packets need Linux (network namespaces and /dev/net/tun); simulations run everywhere"
        )
    parameters = [(key, str(value)) for key, value in run.get("parameters", {}).items()]
    capture = Path(run["capture"]) if "capture" in run else None
    options = [(name, int(value)) for name, value in run.get("options", {}).items()]
    if "flows" in run:
        near, far = run.get("carriers", ("kernel", "kernel"))
        return json.loads(
            _core.emulated_flows(
                run["flows"], (near, far), parameters, options, run.get("quick_acks", False), capture
            )
        )
    if "scenario" in run:
        return json.loads(
            _core.kernel_web(run["scenario"], parameters, options, run.get("server_closes", False), capture)
        )
    if capture:
        return json.loads(_core.kernel_transfer(run["path"], run["seconds"], parameters, capture))
    limit = [(key, str(value)) for key, value in run.get("limit", {}).items()]
    return json.loads(
        _core.probe_emulated(
            run["path"], run.get("address", FAR), run.get("ttl"), run["settings"], limit, None
        )
    )


if __name__ == "__main__":
    sys.exit(main())
