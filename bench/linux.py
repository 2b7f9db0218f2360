"""How close the presets `linux`, `linux-reno` and `linux-bbr` are to this machine's kernel: scenarios on the
testbed beside their simulation.

`make linux` runs all with eight seeds, in real time, which takes three quarters of an hour on a quiet machine
with two cores, and writes `docs/linux.md`. Finished seeds are kept in `runs/linux`, so that it can be
interrupted. `python bench/linux.py NAME...` prints all numbers of some scenarios.
"""

from __future__ import annotations

import argparse
import datetime
import fnmatch
import shutil
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import ackclock as ac
from ackclock import quantities
from ackclock.kernel.beside import Beside, Compared
from ackclock.sweep.seeds import run_seeds

STACKS = {name: ac.Stack(kernel={"cc": name}) for name in ("cubic", "reno", "bbr")}
SECONDS = 5
SEEDS = 8
KEEP = Path("runs/linux")
BUFFERS = {"tcp_rmem": "4096 131072 33554432", "tcp_wmem": "4096 16384 4194304"}
"""What the presets' buffers are: network namespaces inherit these of the machine."""
PAGE = Path(__file__).parents[1] / "docs/linux.md"


def link(rate: str, queue: Any, delay: str = "20ms", **more: Any) -> ac.Single:
    """A path of one link, and the same link back without faults."""
    return ac.Single(ac.Link(rate, delay=delay, queue=queue, **more))


def loss(p: float) -> list[dict[str, Any]]:
    """Random loss."""
    return [{"kind": "loss", "p": p}]


def steps(*points: tuple[str, str, str]) -> dict[str, Any]:
    """A key of a link over time: moment, key, value."""
    return {"points": [{"at": at, key: value} for at, key, value in points]}


DEEP, SHALLOW = ac.queue.DropTail(limit="1bdp"), ac.queue.DropTail(limit="20packets")
ENDLESS = {"measure_from": "1s", "series": "50ms"}
FOLLOWED = {"drain": "10s"}
SCENARIOS: dict[str, tuple[ac.Single, Any, dict[str, Any]]] = {
    "bulk, queue of 1 bdp": (link("20Mbit/s", DEEP), ac.Bulk(), ENDLESS),
    "bulk, queue of 20 packets": (link("20Mbit/s", SHALLOW), ac.Bulk(), ENDLESS),
    "bulk, queue of 5 bdp": (link("10Mbit/s", ac.queue.DropTail(limit="5bdp")), ac.Bulk(), ENDLESS),
    "bulk, 100 Mbit/s over 60 ms": (link("100Mbit/s", DEEP, "30ms"), ac.Bulk(), ENDLESS),
    "bulk, 2 Mbit/s over 200 ms": (link("2Mbit/s", DEEP, "100ms"), ac.Bulk(), ENDLESS),
    "two bulk flows": (link("20Mbit/s", DEEP), ac.Bulk(flows=2, spread="500ms"), ENDLESS),
    "four bulk flows, CoDel": (link("20Mbit/s", ac.queue.Codel()), ac.Bulk(flows=4, spread="500ms"), ENDLESS),
    "four bulk flows, FQ-CoDel": (
        link("20Mbit/s", ac.queue.FqCodel()),
        ac.Bulk(flows=4, spread="500ms"),
        ENDLESS,
    ),
    "bulk, 1 % loss": (link("20Mbit/s", DEEP, faults=loss(0.01)), ac.Bulk(), ENDLESS),
    "bulk, 5 % loss": (link("20Mbit/s", DEEP, faults=loss(0.05)), ac.Bulk(), ENDLESS),
    "bulk, bursts of loss": (
        link("20Mbit/s", DEEP, faults=[{"kind": "gilbert-elliott", "p": 0.002, "r": 0.2}]),
        ac.Bulk(),
        ENDLESS,
    ),
    "bulk, 2 % of packets 15 ms late": (
        link("20Mbit/s", DEEP, faults=[{"kind": "reorder", "p": 0.02, "delay": "15ms"}]),
        ac.Bulk(),
        ENDLESS,
    ),
    "bulk, an outage of 0.8 s": (
        link("20Mbit/s", DEEP, faults=[{"kind": "outage", "from": "2s", "until": "2.8s"}]),
        ac.Bulk(),
        ENDLESS,
    ),
    "bulk, delay from 20 to 120 ms and back": (
        link("20Mbit/s", DEEP, schedule=steps(("2s", "delay", "120ms"), ("3s", "delay", "20ms"))),
        ac.Bulk(),
        ENDLESS,
    ),
    "bulk, rate from 20 to 5 Mbit/s and back": (
        link("20Mbit/s", DEEP, schedule=steps(("2s", "rate", "5Mbit/s"), ("4s", "rate", "20Mbit/s"))),
        ac.Bulk(),
        ENDLESS,
    ),
    "web pages": (link("10Mbit/s", DEEP), ac.Web(trace="I", load=0.6), FOLLOWED),
    "transfers of 3 kB": (
        link("20Mbit/s", DEEP),
        ac.Web(arrival_rate=20, sizes={"kind": "fixed", "bytes": "3kB"}),
        FOLLOWED,
    ),
    "transfers of 20 kB, 2 % loss": (
        link("20Mbit/s", DEEP, faults=loss(0.02)),
        ac.Web(arrival_rate=20, sizes={"kind": "fixed", "bytes": "20kB"}),
        FOLLOWED,
    ),
    "requests on connections": (link("20Mbit/s", DEEP), ac.Http(flows=4), {}),
    "a packet every second, 5 % loss": (
        link("20Mbit/s", DEEP, faults=loss(0.05)),
        ac.Telnet(flows=20),
        {},
    ),
    "incast of 8": (link("100Mbit/s", ac.queue.DropTail(limit="64packets"), "1.2ms"), ac.FanIn(flows=8), {}),
    "video": (link("8Mbit/s", DEEP), ac.Video(flows=2, chunk="1s", spread="1s"), {}),
}


LATE = (
    "packets on the testbed are late by hundredths of a millisecond; with a fault that releases them every "
    "0.05, 0.1 or 0.2 ms (`batch`) the simulation gives "
)
MECHANISMS = (
    (
        "bulk, 100 Mbit/s over 60 ms/bbr/*",
        "when a write finds room in the send buffer decides which rounds of start-up count (`app_limited`), "
        "and so after how many losses of a window start-up ends: two or three more on the kernel, one to "
        "three more in the simulation with a path that is 0 to 0.4 ms longer",
    ),
    (
        "incast of 8/*",
        "the eight answers leave one after another on the testbed, whose servers share a processor, and at "
        "one moment in the simulation; with servers that are up to 0.3 to 0.5 ms further away than the first "
        "one the simulation gives 4.2 to 4.3 % of loss for 5.0 with CUBIC, 5.4 to 5.7 for 6.4 with Reno and "
        "20 to 21 for 22 with BBR, and none to seven timeouts",
    ),
    (
        "bulk, queue of 1 bdp/bbr/queueing delay",
        "the largest sample of ten rounds counts, of which the pace keeps 1 % away; "
        + LATE
        + "3.5 to 3.9 ms for 3.4",
    ),
    (
        "bulk*/bbr/queueing delay",
        "the largest sample of ten rounds counts, of which the pace keeps 1 % away; "
        + LATE
        + "up to a quarter more",
    ),
    ("bulk, 1 % loss/*/queueing delay", LATE + "a tenth to a third more"),
    (
        "bulk, queue of 5 bdp/reno/*",
        "half of slow start's window is what the path holds, to one packet: 201 segments on the kernel, "
        "which fit, and 202 in the simulation, one of which is dropped during the repair, so that the second "
        "cut comes 0.5 s later; up to the 59th ack both have sent and acknowledged the same, and from then "
        "on a quick ack more or less decides. From seed to seed the kernel has 1 retransmission and 98 ms "
        "or 3 and 109 ms; the simulation has 3 or 4 and 109 to 112 ms, also with a path that is up to 0.4 ms "
        "longer",
    ),
    (
        "bulk, 100 Mbit/s over 60 ms/reno/*",
        "half of slow start's window is what the path holds, to a few packets of 1,001, so that the second "
        "cut comes at once or half a second later, within what is measured; "
        + LATE
        + "3.4 to 5.3 ms and none or one retransmission (none to three on the kernel), and with a path that "
        "is 0.1 to 0.4 ms longer 3.2 to 5.5 ms and none or two",
    ),
    (
        "bulk, queue of 1 bdp/cubic/retransmitted",
        "six or seven packets from seed to seed of the kernel and six in the simulation, which has seven to "
        "nine where packets are late by 0.05 to 0.2 ms or the path is 0.1 to 0.4 ms longer",
    ),
    (
        "bulk, queue of 20 packets/bbr/loss*",
        "24 packets of 6,600, and on the kernel a few more in some seeds; with a path that is 0.2 or 0.3 ms "
        "longer the simulation loses 33 to 48",
    ),
    ("bulk, queue of 20 packets/cubic/queueing delay", LATE + "4.6 to 4.8 ms for 4.8"),
    (
        "bulk, rate from 20*/reno/*",
        "11 packets of 4,100 in each seed of the kernel and 12 in the simulation, which loses 11 to 14 "
        "where packets are late by 0.05 to 0.2 ms and 10 to 14 with a path that is 0.1 to 0.4 ms longer: "
        "most of them as the rate falls",
    ),
    ("bulk, an outage*/reno/queueing delay", LATE + "5.2 to 6.2 ms for 5.5"),
    (
        "bulk, delay from 20*/*",
        LATE
        + "8 to 30 times as many losses with CUBIC, whose slow start ends a round trip later, and with Reno "
        "a queueing delay that is up to 9 % smaller",
    ),
    ("bulk, queue of 20 packets/reno/*", LATE + "0.050 to 0.067 % for 0.067 %"),
    ("bulk, 2 Mbit/s over 200 ms/*/loss at the bottleneck", "two packets of 800"),
    ("two bulk flows/reno/loss*", LATE + "0.054 to 0.078 % for 0.060 %"),
    ("bulk, 2 % of packets 15 ms late/reno/*", LATE + "0.045 to 0.054 % for 0.072 %"),
)
"""Mechanisms behind differences, by a pattern for scenario/TCP/number."""


def compare(name: str, seeds: int, workers: int | None = None) -> list[Compared]:
    """One scenario in both worlds."""
    path, workload, options = SCENARIOS[name]
    whole = ac.Scenario.of(
        path, workload, STACKS, duration=f"{SECONDS}s", seeds=list(range(1, seeds + 1)), **options
    )
    kernel = run_seeds(whole, keep=KEEP, workers=workers)
    return list(Beside.of(kernel, whole.simulate()).compared)


def difference(c: Compared | None) -> str:
    """A cell: the difference, bold where it is one."""
    if c is None:
        return ""
    kernel, simulated = c.means
    text = (
        f"{c.quantity.shown(simulated)} for {c.quantity.shown(kernel)}"
        if c.difference is None
        else f"{100 * c.difference:+.1f} %"
    )
    return f"**{text}**" if c.verdict == "differs" else text


COLUMNS = {
    "goodput": "goodput",
    "mean response time": "mean time",
    "median response time": "median",
    "response time, 99 %": "99 %",
    "retransmitted": "retransmitted",
    "timeouts": "timeouts",
    "smoothed round-trip time": "RTT",
    "queueing delay": "queue",
}


def why(scenario: str, stack: str, quantity: str) -> str:
    """The mechanism behind a difference, as far as it is known: the first entry that fits."""
    place = f"{scenario}/{stack}/{quantity}"
    return next((text for pattern, text in MECHANISMS if fnmatch.fnmatchcase(place, pattern)), "not known")


def page(found: Mapping[str, Sequence[Compared]], seeds: int, kernel: str) -> str:
    """The page."""
    every = [c for compared in found.values() for c in compared]
    close = sum(c.difference is not None and abs(c.difference) <= 0.05 for c in every)
    agree = sum(c.verdict != "differs" for c in every)
    rows = []
    for name, compared in found.items():
        for stack in STACKS:
            by = {c.quantity.name: c for c in compared if c.stack == stack}
            cells = [difference(by.get(quantity)) for quantity in COLUMNS]
            rows.append(f"| {name} | {stack} | {' | '.join(cells)} |")
    apart = sorted(
        ((name, c) for name, compared in found.items() for c in compared if c.verdict == "differs"),
        key=lambda found: -abs(found[1].difference or 0.0),
    )
    listed = []
    for name, c in apart:
        kernel_mean, simulated = (c.quantity.shown(x) for x in c.means)
        half = quantities.percent(c.half / c.means[0]) if c.means[0] else ""
        listed.append((name, c, kernel_mean, simulated, half))
    head = " | ".join(COLUMNS.values())
    differing = [
        f"| {name} | {c.stack} | {c.quantity.name} | {kernel_mean} | {simulated} | {difference(c)} "
        f"| {half} | {why(name, c.stack, c.quantity.name)} |"
        for name, c, kernel_mean, simulated, half in listed
    ]
    return PAGE_TEXT.format(
        scenarios=len(found),
        seconds=SECONDS,
        seeds=seeds,
        kernel=kernel,
        day=datetime.date.today().isoformat(),
        every=len(every),
        close=close,
        agree=agree,
        apart=len(every) - agree,
        head=head,
        rule="---|" * len(COLUMNS),
        rows="\n".join(rows),
        differing="\n".join(differing),
    )


PAGE_TEXT = """<!-- Written by `make linux`; do not edit. -->

# How close to Linux

{scenarios} scenarios, each {seconds} s long, with CUBIC, Reno and BBR and {seeds} seeds: on the kernel
({kernel}) by the [testbed](testbed.md), and simulated with the presets `linux`, `linux-reno` and
`linux-bbr`. Of {every} numbers {close} are within 5 % of the kernel's, and {agree} are that or within the
noise between seeds; {apart} differ. Measured on {day}; what has changed in the presets since is in the
[changelog](../CHANGELOG.md).

The table has the difference of each number, simulated less kernel over kernel; in bold what differs by more
than 5 % and by more than the noise (the 95 % confidence interval of the difference of the means, by Welch's
test). `make linux` measures all of it again.

| scenario | TCP | {head} |
|---|---|{rule}
{rows}

## What differs

The column ± is half the 95 % confidence interval of the difference, as a share of the kernel's number. The
last one says why, found by laying both runs side by side over time (`series`): a mechanism of the kernel,
what packets that are late do, or that it is not known.

| scenario | TCP | number | kernel | simulated | difference | ± | why |
|---|---|---|---|---|---|---|---|
{differing}
"""


def main() -> None:
    """Prints the numbers of some scenarios, or writes the page of all."""
    arguments = argparse.ArgumentParser(description=__doc__)
    arguments.add_argument("names", nargs="*", metavar="NAME", choices=[[], *SCENARIOS])
    arguments.add_argument("--seeds", type=int, default=SEEDS)
    arguments.add_argument("--workers", type=int, help="seeds side by side")
    arguments.add_argument("--again", action="store_true", help="measure again what is kept")
    given = arguments.parse_args()
    for key, expected in BUFFERS.items():
        met = " ".join((Path("/proc/sys/net/ipv4") / key).read_text().split())
        if met != expected:
            raise SystemExit(f"net.ipv4.{key} is {met}; expected {expected}, as the presets have it")
    if given.again and KEEP.exists():
        shutil.rmtree(KEEP)
    print("| scenario | stack | number | kernel | simulated | difference | |\n|---|---|---|---|---|---|---|")
    found = {}
    for name in given.names or SCENARIOS:
        try:
            found[name] = compare(name, given.seeds, given.workers)
        except ac.AckclockError as e:
            print(f"{name}: {e}", file=sys.stderr)
            continue
        for c in found[name]:
            kernel, simulated = (c.quantity.shown(x) for x in c.means)
            cells = [name, c.stack, c.quantity.name, kernel, simulated, difference(c), c.verdict]
            print(f"| {' | '.join(cells)} |", flush=True)
    if not given.names and len(found) == len(SCENARIOS):
        import platform

        PAGE.write_text(page(found, given.seeds, f"Linux {platform.release()}"), encoding="utf-8")
        print(f"\n{PAGE.name} is written.")
    elif not given.names:
        raise SystemExit("some scenarios failed; the same command goes on with them")


if __name__ == "__main__":
    main()
