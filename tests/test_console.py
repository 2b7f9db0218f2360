"""Tables on terminals of any width."""

from __future__ import annotations

import fcntl
import os
import pty
import re
import struct
import subprocess
import sys
import termios
from pathlib import Path

import pytest
from rich.cells import cell_len

from ackclock.console import print_table
from ackclock.fitting import fit, folded

COLUMNS = [("no", "right"), ("client", "left"), ("server", "left"), ("packets", "right"), ("p", "right")]
ROWS = [["0", "2001:db8::1:40000", "192.0.2.1:443", "1,234", "0.50 %"], ["1", "a:1", "b:2", "5", "-"]]
ENDS = ("client", "server")
LONG = "a conventional transport with every standard on"
COMPOSED = "sack+init-rto(3s)+min-rto(500ms)+ack-every+no-nagle"
STACKS = f"""
[stacks]
"{LONG}" = "sack"
"{COMPOSED}" = "{COMPOSED}"
tahoe = "tahoe"
"cubic+rack+ecn+timestamps" = "cubic+rack+ecn+timestamps"
"""
SCENARIO = """
duration = "3s"
[path]
kind = "dumbbell"
rtt = "50ms"
bottleneck = { rate = "10Mbit/s" }
[workload]
kind = "web"
trace = "I"
load = 0.9
"""
PLAN = """
seeds = 2
[axes]
offered = { key = "workload.load", values = { "10 Mbit/s, and nothing else" = 0.5, "12 Mbit/s" = 1.2 } }
nominal = { key = "path.rtt", values = ["10ms", "50ms"] }
"""
CAPTURE = Path(__file__).parents[1] / "crates/ackclock-capture/tests/fixtures/kernel-heavy-loss.pcap.gz"


def found(columns, rows, width, **more):
    fitted = fit(columns, rows, width, **more)
    return (
        [c.heading for c in fitted.columns],
        list(zip(*(c.cells for c in fitted.columns), strict=True)),
        fitted.left_out,
    )


def test_a_wide_terminal_shows_every_column():
    names, rows, left_out = found(COLUMNS, ROWS, 80, spare=("p",), stack=ENDS)
    assert (names, rows, left_out) == ([n for n, _ in COLUMNS], [tuple(r) for r in ROWS], [])


def test_a_narrow_terminal_leaves_out_spare_columns_in_order():
    names, rows, left_out = found(COLUMNS, ROWS, 50, names=("no", *ENDS), spare=("p", "packets"), stack=ENDS)
    assert names == ["no", "client", "server", "packets"]
    assert rows[0] == ("0", "2001:db8::1:40000", "192.0.2.1:443", "1,234")
    assert left_out == ["p"]


def test_where_that_is_not_enough_columns_stand_below_each_other():
    names, rows, left_out = found(COLUMNS, ROWS, 30, names=("no", *ENDS), spare=("p", "packets"), stack=ENDS)
    assert names == ["no", "client\nserver"]
    assert rows == [("0", "2001:db8::1:40000\n192.0.2.1:443"), ("1", "a:1\nb:2")]
    assert left_out == ["p", "packets"]


def test_off_a_terminal_nothing_is_left_out(capsys):
    assert print_table(COLUMNS, ROWS, spare=("p",)) == []
    assert "0.50 %" in capsys.readouterr().out


@pytest.mark.parametrize("width", [20, 40, 60, 80, 100, 120])
def test_names_are_whole_at_every_width_and_no_line_is_longer(width):
    columns = [
        ("stack", "left"),
        *((f"{word} number", "right") for word in ("first", "second", "third", "fourth", "fifth", "sixth")),
    ]
    rows = [[name, *["10.0 Mbit/s ± 120 kbit/s"] * 6] for name in (LONG, COMPOSED, "漢字" * 20, "x")]
    fitted = fit(columns, rows, width)
    assert sum(c.width for c in fitted.columns) + fitted.gap * (len(fitted.columns) - 1) <= width
    assert [re.sub(r"\s", "", cell) for cell in fitted.columns[0].laid()] == [
        re.sub(r"\s", "", row[0]) for row in rows
    ]
    for c in fitted.columns:
        assert all(cell_len(line) <= c.width for cell in c.laid() for line in cell.split("\n"))
    assert len(fitted.columns) + len(fitted.left_out) == len(columns)


def test_names_break_behind_the_marks_that_compose_them():
    assert folded(COMPOSED, 24).split("\n") == ["sack+init-rto(3s)+min-", "rto(500ms)+ack-every+no-", "nagle"]
    assert folded("word " * 3, 9) == "word word\nword"
    assert folded("", 5) == ""


def on_terminal(folder: Path, width: int, *arguments: str | Path) -> str:
    """What a command shows on a terminal of so many columns, without its colours."""
    master, slave = pty.openpty()
    fcntl.ioctl(slave, termios.TIOCSWINSZ, struct.pack("HHHH", 40, width, 0, 0))
    environment = {k: v for k, v in os.environ.items() if k not in ("COLUMNS", "FORCE_COLOR")} | {
        "TERM": "xterm",
        "NO_COLOR": "1",
    }
    command = [sys.executable, "-m", "ackclock", *map(str, arguments)]
    done = subprocess.Popen(
        command, cwd=folder, stdin=slave, stdout=slave, stderr=subprocess.DEVNULL, env=environment
    )
    os.close(slave)
    shown = b""
    try:
        while piece := os.read(master, 65536):
            shown += piece
    except OSError:
        # Linux says so when the other end is closed.
        pass
    os.close(master)
    assert done.wait(60) == 0, shown
    return re.sub(r"\x1b\[[0-9;?]*[A-Za-z]", "", shown.decode()).replace("\r\n", "\n")


@pytest.fixture(scope="module")
def files(tmp_path_factory):
    folder = tmp_path_factory.mktemp("narrow")
    (folder / "names.toml").write_text(SCENARIO + STACKS)
    nested = re.sub(r"(?m)^\[(path|workload|stacks)\]", r"[scenario.\1]", SCENARIO + STACKS)
    (folder / "plan.toml").write_text(PLAN.replace("[axes]", f"[scenario]{nested}[axes]"))
    rows = [
        f"{i / 10},{0.05 + (i * 37 % 100) / 1000},{'true' if i % 50 == 3 else 'false'}" for i in range(300)
    ]
    (folder / "series.csv").write_text("\n".join(["time,rtt,lost", *rows]) + "\n")
    return folder


TIMER = "rfc6298(min_rto=200ms,initial_rto=3s)"
COMMANDS = {
    "run": (["run", "names.toml"], [LONG, COMPOSED, "tahoe", "cubic+rack+ecn+timestamps"]),
    "sweep": (
        ["sweep", "plan.toml"],
        ["10 Mbit/s, and nothing else", "12 Mbit/s", "50 ms", "tahoe", "finished"],
    ),
    "timers": (
        ["timers", "series.csv", "--timer", TIMER, "--timer", "jacobson88-ticks"],
        [TIMER, "jacobson88-ticks", "spurious"],
    ),
    "policies": (["policies"], ["sub-exponential", "jacobson88-ticks", "constant-decrement"]),
    "one policy": (["policies", "rfc6298"], ["clock_granularity", "initial_rto"]),
    "list": (["reproduce", "--list"], ["J-A1", "jacobson88", "interactive2007"]),
    "reproduce": (["reproduce", "B-E1"], ["holds", "p of 100 and 120 flows"]),
    "model": (
        ["model", "pftk", "--p", "0.01..0.1:3", "--rtt", "100ms", "--beside", "mathis", "--beside", "cubic"],
        ["0.055", "pftk (bit/s)", "cubic"],
    ),
    "eifel": (
        ["model", "eifel", "--cycles", "2", "--timer", "lite", "--timer", "eifel(weight=2)"],
        ["lite", "eifel(weight=2)"],
    ),
    "capture": (
        ["capture", CAPTURE, "--what-if", "eifel,rfc6298+no-backoff"],
        ["10.0.0.1:56996", "10.0.0.2:80", "rfc6298+no-backoff", "as-run"],
    ),
}
PROSE = (
    "The client",
    "Stalled",
    "Waiting for",
    "Realised load",
    "The standard timer",
    "packets were retransmitted",
)


@pytest.mark.parametrize("width", [80, 100])
@pytest.mark.parametrize("command", COMMANDS)
def test_on_a_terminal_every_command_names_its_rows(files, command, width):
    arguments, names = COMMANDS[command]
    shown = on_terminal(files, width, *arguments)
    for name in names:
        # Parts of a folded name stand below each other.
        parts = [part.strip() for part in re.split(r"(?<=[\s+,;:/_-])", name) if part.strip()]
        assert all(part in shown for part in parts), f"{name} is not in\n{shown}"
    table = [line for line in shown.splitlines() if not any(words in line for words in PROSE)]
    assert all(cell_len(line) <= width for line in table), shown
