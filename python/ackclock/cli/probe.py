from __future__ import annotations

import json
import socket
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from ipaddress import ip_address
from typing import Any

import click

from ackclock import _core
from ackclock._core import InputError
from ackclock.cli import completion
from ackclock.cli.whole import Whole
from ackclock.console import note, print_json, print_table, say
from ackclock.exit_codes import INTERRUPTED
from ackclock.quantities import count, percent, rate, seconds
from ackclock.results import probe
from ackclock.results.probe import STACK

INTERVAL = 0.05
"""Time between background probes, seconds."""
NEED_LINUX = (
    "probing needs Linux; `ackclock.results.probe` and M-F9 show the same probe over simulated "
    "paths everywhere"
)


@click.command("probe")
@click.argument("host")
@click.option("--icmp", is_flag=True, help="Probe with ICMP echo, which is the default.")
@click.option(
    "--udp-ttl",
    type=Whole(1, 255),
    metavar="N",
    help="Probe with UDP datagrams of TTL N, which the router N hops away, or the host, reports by ICMP.",
)
@click.option(
    "--seconds",
    "duration",
    default="60s",
    show_default=True,
    metavar="TIME",
    help="How long the test lasts; a bare number is in seconds.",
)
@click.option(
    "--stack",
    default=STACK,
    show_default=True,
    metavar="NAME",
    shell_complete=completion.stacks,
    help="The TCP stack that drives the probe, by its name in scenarios.",
)
@click.option(
    "--mss", default=None, metavar="SIZE", help="Payload of a probe.  [default: 1460B, over IPv6 1440B]"
)
@click.option(
    "--max-rate",
    default="100Mbit/s",
    show_default=True,
    metavar="RATE",
    help="The highest sending rate, headers included.",
)
@click.option(
    "--background",
    type=Whole(0, 100_000),
    default=200,
    show_default=True,
    help="Background probes before and after; 0 for none.",
)
@click.option("-4", "family", flag_value="4", help="Use the host's IPv4 address.")
@click.option("-6", "family", flag_value="6", help="Use the host's IPv6 address.")
@click.option("--json", "as_json", is_flag=True, help="Print JSON.")
def command(
    host: str,
    icmp: bool,
    udp_ttl: int | None,
    duration: str,
    stack: str,
    mss: str | None,
    max_rate: str,
    background: int,
    family: str | None,
    as_json: bool,
) -> int | None:
    """TReno: measure the bulk-transfer capacity of the path to HOST, from this end alone.

    A TCP sender and a TCP receiver both run here, with the engine's own rules. Each segment leaves as one
    probe, and counts as received when the reply arrives: an ICMP echo reply from the host, or, with
    --udp-ttl, the ICMP error from the router N hops away (from the host itself, if it is nearer). So the load
    on the path is that of one TCP transfer: never more than its window, and never more than --max-rate.

    Reported are the capacity; p, congestion signals per acknowledged segment; round-trip times; losses as CA
    events (halvings that keep the ack clock), non-CA events (timeouts, failed recoveries) and others; and
    what the models of Mathis et al. and PFTK predict from p and the round-trip time. The initial slow
    start is left out. Losses of probes and losses of replies cannot be distinguished. Small background probes
    before, during and after the test show what the test itself does to the path. A note says where replies
    look rate-limited.

    ICMP echo needs no privilege where net.ipv4.ping_group_range includes your group, and CAP_NET_RAW
    elsewhere; --udp-ttl needs none. Ctrl-C ends the test and prints the report so far.

    \b
        ackclock probe 192.0.2.1
        ackclock probe example.org --udp-ttl 8 --seconds 20s
    """
    if icmp and udp_ttl is not None:
        raise InputError("`--icmp` and `--udp-ttl` are two ways to probe: give one of them")
    if not hasattr(_core, "probe"):
        raise InputError(NEED_LINUX)
    address = resolve(host, family)
    settings = {
        "stack": stack,
        "mss": size(mss, address),
        "max_rate": top_rate(max_rate),
        "seconds": length(duration),
        "warmup": 0.0,
        "background": background,
        "interval": INTERVAL,
    }
    try:
        with live(sys.stderr.isatty()) as show:
            found = json.loads(
                _core.probe(address, udp_ttl, settings, after(plan(host, address, udp_ttl, settings), show))
            )
    except _core.MissingRightError as e:
        raise InputError(str(e)) from None
    result = {"host": host, "address": address, "method": method(udp_ttl), **probe.summary(found, stack)}
    if not found["answered"] and not found["interrupted"]:
        other = (
            "another number of hops, or without `--udp-ttl`"
            if udp_ttl
            else "`--udp-ttl N`, which probes a router on the path"
        )
        raise InputError(f"`{host}` ({address}) does not reply; try another host, or {other}")
    if as_json:
        print_json(result)
    else:
        show_result(result)
    return INTERRUPTED if found["interrupted"] else None


def resolve(host: str, family: str | None) -> str:
    """The host's address."""
    wanted = {None: socket.AF_UNSPEC, "4": socket.AF_INET, "6": socket.AF_INET6}[family]
    try:
        found = socket.getaddrinfo(host, None, wanted, socket.SOCK_DGRAM)
    except (OSError, UnicodeError):
        kind = f" with an IPv{family} address" if family else ""
        raise InputError(
            f"`{host}` is not a host that can be found{kind}; give a name or an address such as `192.0.2.1`"
        ) from None
    return str(ip_address(found[0][4][0]))


def size(text: str | None, address: str) -> int:
    """The payload of a probe."""
    if text is None:
        return 1460 if ip_address(address).version == 4 else 1440
    found = _quantity("--mss", "size", text)
    if not 64 <= found <= 65_000:
        raise InputError(f"`--mss` is `{text}`; give 64B to 65000B")
    return int(found)


def top_rate(text: str) -> float:
    """The largest rate."""
    found = _quantity("--max-rate", "rate", text)
    if not 1e3 <= found <= 1e10:
        raise InputError(f"`--max-rate` is `{text}`; give 1kbit/s to 10Gbit/s")
    return found


def length(text: str) -> float:
    """How long the test lasts, seconds."""
    found = float(text) if text.strip().isdecimal() else _quantity("--seconds", "time", text)
    if not 1 <= found <= 86_400:
        raise InputError(f"`--seconds` is `{text}`; give 1s to 86400s")
    return found


def _quantity(option: str, kind: str, text: str) -> float:
    try:
        return _core.quantity(kind, text)
    except InputError as e:
        raise InputError(f"`{option}`: {e}") from None


def method(ttl: int | None) -> str:
    """The kind of probe, in words."""
    return "ICMP echo" if ttl is None else f"UDP, {ttl} hop{'s' if ttl > 1 else ''}"


def plan(host: str, address: str, ttl: int | None, settings: dict[str, Any]) -> str:
    """Announces the load that the probe is about to put on the network."""
    where = host if host == address else f"{host} ({address})"
    n = settings["background"]
    beside = f"; {n} small probes before and after ({n * INTERVAL:.3g} s each)" if n else ""
    return (
        f"Probing {where} with {method(ttl)}, payloads of {settings['mss']} bytes: a load like that of "
        f"one TCP transfer ({settings['stack']}) for {settings['seconds']:g} s, at most "
        f"{rate(settings['max_rate'])}{beside}. Probe networks that are yours, or whose owners agree. "
        "Ctrl-C ends it with the report so far."
    )


def show_result(r: dict[str, Any]) -> None:
    """Prints the report as a table."""
    rows: list[tuple[str, str]] = []
    if r["rtt"]:
        left_out = (
            f", the first {seconds(r['after'])} (initial slow start) left out"
            if r["slow_start_excluded"]
            else ""
        )
        say(f"{r['method']} to {r['host']}, {r['mss']} bytes, {r['stack']}: {r['seconds']:.1f} s{left_out}")
        t = r["rtt"]
        rows += [
            ("capacity", rate(r["capacity"])),
            (
                "p, CA events per segment",
                "-"
                if r["p"] is None
                else f"{r['p']:.3g} ({count(r['ca_events'])} of {count(r['segments_acked'])})",
            ),
            (
                "non-CA events, other losses",
                f"{count(r['non_ca_events'])}, {count(r['other_losses'])} ({count(r['timeouts'])} timeouts)",
            ),
            ("probes lost", f"{percent(r['loss'])} of {count(r['probes_sent'])}"),
            ("round trip: least, mean", f"{seconds(t['min'])}, {seconds(t['mean'])}"),
            (
                "median, 90 %, 99 %, largest",
                ", ".join(seconds(t[q]) for q in ("median", "p90", "p99", "max")),
            ),
            ("as the connection sampled it", seconds(t["sampled"])),
            ("mean window", "-" if r["window"] is None else f"{r['window']:.1f} segments"),
        ]
        for name, words in (("mathis", "Mathis et al., C = {c}"), ("pftk", "PFTK, b = {b:.0f}")):
            found = r["model"][name]
            value = (
                "no prediction: no loss"
                if found["capacity"] is None
                else f"{rate(found['capacity'])}; found/model {found['ratio']:.2f}"
            )
            rows.append((words.format(**found), value))
    b = r["background"]
    for name, words in (
        ("before", "not under test, before"),
        ("during", "under test"),
        ("after", "not under test, after"),
    ):
        s = b[name]
        if s["sent"]:
            means = (
                f"least {seconds(s['min'])}, mean {seconds(s['mean'])}, median of means "
                f"{seconds(s['median_of_means'])}"
            )
            rows.append((words, f"{means} ({s['answered']} of {s['sent']})"))
    if b["ratio"]:
        rows.append(("under test / not under test", f"{b['ratio']:.2f}"))
    print_table([("measured", "left"), ("found", "left")], rows)
    if r["interrupted"]:
        say("Interrupted: these are the numbers so far.")
    for sentence in r["notes"]:
        say(sentence)


def after(first: str, show: Callable[[str], None] | None) -> Callable[[str], None]:
    """A progress callback that prints `first` once the probe runs, so that errors before that are not
    preceded by it.
    """
    notes = iter([first])

    def noted(text: str) -> None:
        for text_before in notes:
            note(text_before)
        if show:
            show(text)

    return noted


@contextmanager
def live(terminal: bool) -> Iterator[Callable[[str], None] | None]:
    """A progress callback that updates its lines in place on a terminal."""
    if not terminal:
        yield None
        return
    from rich.console import Console
    from rich.live import Live

    with Live(console=Console(file=sys.stderr, highlight=False), auto_refresh=False, transient=True) as shown:
        yield lambda text: shown.update(line(json.loads(text)), refresh=True)


PHASES = {
    "before": "background probes",
    "test": "testing",
    "drain": "waiting for replies",
    "check": "are replies rate-limited?",
    "after": "background probes",
    "done": "done",
}


def line(p: dict[str, Any]) -> str:
    """The progress, in a few lines."""
    m = p["measured"]
    of = f" of {p['of']:.0f} s" if p["phase"] in ("before", "test", "after") else ""
    said = [f"{PHASES[p['phase']]}: {p['elapsed']:.0f}{of or ' s'}"]
    if m is None:
        b = p["before"]
        said.append(
            f"round trip {seconds(b['rtt']['min'])} to {seconds(b['rtt']['max'])}, {b['answered']} of "
            f"{b['sent']} back"
        )
    else:
        p_found = "-" if m["p"] is None else format(m["p"], ".2g")
        said += [
            f"capacity {rate(m['capacity'])}, window {p['window']:.1f} segments",
            f"p {p_found}: {m['ca_events']} CA, {m['non_ca_events']} non-CA, {m['other_losses']} other "
            "losses",
            f"round trip {seconds(m['rtt']['min'])}, mean {seconds(m['rtt']['mean'])}, 99 % "
            f"{seconds(m['rtt']['p99'])}",
        ]
    return "\n".join(said)
