"""How close the presets `linux`, `linux-reno` and `linux-bbr` are to this machine's kernel: scenarios on the
testbed beside their simulation.

`make linux` runs all, in real time, which takes a quarter of an hour on a quiet machine, and prints a table
in Markdown; `python bench/linux.py NAME... [--seeds N]` runs some.
"""

from __future__ import annotations

import argparse
import sys
from typing import Any

import ackclock as ac
from ackclock.kernel.beside import Beside, Compared

STACKS = {name: ac.Stack(kernel={"cc": name}) for name in ("cubic", "reno", "bbr")}
SECONDS = 5


def link(rate: str, queue: Any, delay: str = "20ms", **more: Any) -> ac.Single:
    """A path of one link, and the same link back without faults."""
    return ac.Single(ac.Link(rate, delay=delay, queue=queue, **more))


def loss(p: float) -> list[dict[str, Any]]:
    """Random loss."""
    return [{"kind": "loss", "p": p}]


DEEP, SHALLOW = ac.queue.DropTail(limit="1bdp"), ac.queue.DropTail(limit="20packets")
SCENARIOS: dict[str, tuple[ac.Single, Any, dict[str, Any]]] = {
    "bulk": (link("20Mbit/s", DEEP), ac.Bulk(), {"measure_from": "1s", "series": "50ms"}),
    "shallow": (link("20Mbit/s", SHALLOW), ac.Bulk(), {"measure_from": "1s", "series": "50ms"}),
    "fq-codel": (
        link("20Mbit/s", ac.queue.FqCodel()),
        ac.Bulk(flows=4),
        {"measure_from": "1s", "series": "50ms"},
    ),
    "loss": (link("20Mbit/s", DEEP, faults=loss(0.01)), ac.Bulk(), {"measure_from": "1s", "series": "50ms"}),
    "reordering": (
        link("20Mbit/s", DEEP, faults=[{"kind": "reorder", "p": 0.02, "delay": "15ms"}]),
        ac.Bulk(),
        {"measure_from": "1s", "series": "50ms"},
    ),
    "web": (link("10Mbit/s", DEEP), ac.Web(trace="I", load=0.6), {"drain": "5s"}),
    "short transfers, 2 % loss": (
        link("20Mbit/s", DEEP, faults=loss(0.02)),
        ac.Web(arrival_rate=20, sizes={"kind": "fixed", "bytes": "20kB"}),
        {"drain": "5s"},
    ),
    "requests on connections": (link("20Mbit/s", DEEP), ac.Http(flows=4), {}),
    "a packet every second, 5 % loss": (
        link("20Mbit/s", DEEP, faults=loss(0.05)),
        ac.Telnet(flows=20),
        {},
    ),
    "incast": (link("100Mbit/s", ac.queue.DropTail(limit="64packets"), "1ms"), ac.FanIn(flows=8), {}),
}


def compare(name: str, seeds: int) -> list[Compared]:
    """One scenario in both worlds."""
    path, workload, options = SCENARIOS[name]
    whole = ac.Scenario.of(
        path, workload, STACKS, duration=f"{SECONDS}s", seeds=list(range(1, seeds + 1)), **options
    )
    for _ in range(3):
        try:
            kernel = whole.testbed()
        except ac.AckclockError as e:
            # The machine was busy for a moment.
            if "is void" not in str(e):
                raise
            print(e, file=sys.stderr)
            continue
        return list(Beside.of(kernel, whole.simulate()).compared)
    raise SystemExit(f"{name}: the machine was too busy three times")


def main() -> None:
    """Prints a row for each number of each scenario and stack."""
    arguments = argparse.ArgumentParser(description=__doc__)
    arguments.add_argument("names", nargs="*", metavar="NAME", choices=[[], *SCENARIOS])
    arguments.add_argument("--seeds", type=int, default=4)
    given = arguments.parse_args()
    print("| scenario | stack | number | kernel | simulated | difference | |\n|---|---|---|---|---|---|---|")
    verdicts = []
    for name in given.names or SCENARIOS:
        for c in compare(name, given.seeds):
            kernel, simulated = (c.quantity.shown(x) for x in c.means)
            share = "" if c.difference is None else f"{100 * c.difference:+.1f} %"
            cells = [name, c.stack, c.quantity.name, kernel, simulated, share, c.verdict]
            print(f"| {' | '.join(cells)} |", flush=True)
            verdicts.append(c.verdict)
    counts = [f"{verdicts.count(v)} {v}" for v in ("within 5 %", "within noise", "differs")]
    print(f"\nOf {len(verdicts)} numbers {', '.join(counts)}.")


if __name__ == "__main__":
    main()
