"""The scripts against the engine: each passes, or is on record as one that the engine does not pass."""

from __future__ import annotations

import json
import re
from pathlib import Path

import pytest

from ackclock._core import InputError, run_script

try:
    import tomllib
except ModuleNotFoundError:
    import tomli as tomllib

FOLDER = Path(__file__).parent.parent / "scripts"
SCRIPTS = sorted(str(p.relative_to(FOLDER)) for p in FOLDER.rglob("*.pkt"))
DIFFERENCES = tomllib.loads((FOLDER / "differences.toml").read_text(encoding="utf-8"))["difference"]
FAILS = {d["script"] for d in DIFFERENCES if d["world"] == "engine"}


@pytest.mark.parametrize("name", SCRIPTS)
def test_a_script_passes_or_is_a_known_difference(name: str) -> None:
    path = FOLDER / name
    text = path.read_text(encoding="utf-8")
    assert re.match(r"// (RFC \d+ §?\d|Linux [\d.]+ \w+\.c)", text), (
        "the first line names the RFC and the section"
    )
    outcome = json.loads(
        run_script(str(path), text, path.parent, dialect="linux", stack=None, tolerance=None, defines=[])
    )
    if name in FAILS:
        assert not outcome["passed"], "it passes now: take it out of differences.toml"
    else:
        assert outcome["passed"], outcome["failure"]


# What is about one version of IP, or about sizes that follow from it.
OF_IPV4 = ("icmp", "pmtu", "ipv6")


@pytest.mark.parametrize("ip", ["ipv6", "ipv4-mapped-v6"])
def test_most_scripts_hold_over_any_version_of_ip(ip: str) -> None:
    failed = []
    for name in SCRIPTS:
        text = (FOLDER / name).read_text(encoding="utf-8")
        if name in FAILS or name.startswith(OF_IPV4) or "icmp" in text or "IP_T" in text:
            continue
        if ip == "ipv6" and re.search(r"mss 1460|mss 536|== 536|1460", text.replace("ack 1 <mss 1460", "")):
            continue
        # With 20 bytes more the segments have the same size.
        mtu = 1520 if ip == "ipv6" else None
        levels = [("SOL_IP", "SOL_IPV6"), ("IP_RECVERR", "IPV6_RECVERR")]
        outcome = json.loads(run_script(name, text, (FOLDER / name).parent, ip=ip, mtu=mtu, defines=levels))
        if not outcome["passed"]:
            failed.append((name, outcome["failure"]))
    assert not failed


def test_a_script_names_its_version_of_ip() -> None:
    text = "--ip_version=ipv6\n0 socket(..., SOCK_STREAM, IPPROTO_TCP) = 3\n"
    text += "+0...0.1 connect(3, ..., ...) = 0\n"
    text += "+0 > S 0:0(0) <mss 1440,...>\n"
    with pytest.raises(InputError, match="expected mss, wscale"):
        run_script("a.pkt", text, FOLDER)
    text = text.replace("<mss 1440,...>", "<...>")
    text += "+.1 < S. 0:0(0) ack 1 win 9000\n+0 > . 1:1(0) ack 1 <...>\n"
    text += "+0 %{ assert tcpi_advmss == 1440, tcpi_advmss }%\n"
    assert json.loads(run_script("a.pkt", text, FOLDER, ip="ipv4"))["passed"]
    with pytest.raises(
        InputError, match="`ipv5` is no version of IP; expected one of ipv4, ipv6, ipv4-mapped-v6"
    ):
        run_script("a.pkt", text.replace("ipv6", "ipv5"), FOLDER)
    with pytest.raises(InputError, match="an MTU of 1000 bytes is too small; the least is 1280"):
        run_script("a.pkt", text, FOLDER, mtu=1000)


def test_differences_are_of_scripts_that_exist() -> None:
    assert {d["script"] for d in DIFFERENCES} <= set(SCRIPTS)
    assert {d["world"] for d in DIFFERENCES} <= {"engine", "kernel"}
    assert all(re.search(r"RFC \d+ §", d["why"]) for d in DIFFERENCES)
    pairs = [(d["script"], d["world"]) for d in DIFFERENCES]
    assert len(pairs) == len(set(pairs))
