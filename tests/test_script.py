"""The command that runs scripts, as a stranger uses it."""

from __future__ import annotations

import json
from pathlib import Path

from pytest import CaptureFixture

from ackclock.cli import run_command

GOOD = """
0   socket(..., SOCK_STREAM, IPPROTO_TCP) = 3
+0  bind(3, ..., ...) = 0
+0  listen(3, 1) = 0
+.1 < S 0:0(0) win 32792 <mss 1000,sackOK,nop,nop,nop,wscale 7>
+0  > S. 0:0(0) ack 1 <...>
+.1 < . 1:1(0) ack 1 win 320
+0  accept(3, ..., ...) = 4
+0  write(4, ..., 1000) = 1000
+0  > P. 1:1001(1000) ack 1
"""


def run(*arguments: str | Path) -> int:
    return run_command(["script", *map(str, arguments)])


def test_scripts_pass_and_fail(tmp_path: Path, capsys: CaptureFixture[str]) -> None:
    good, bad = tmp_path / "good.pkt", tmp_path / "bad.pkt"
    good.write_text(GOOD)
    bad.write_text(GOOD.replace("P. 1:1001(1000)", ". 1:501(500)"))
    assert run(good) == 0
    assert capsys.readouterr().out.splitlines()[0] == f"ok    {good}"
    assert run(tmp_path) == 1
    out = capsys.readouterr().out
    assert f"FAIL  {bad}:10: flags P. instead of ." in out
    assert "x   10    0.200000  > . 1:501(500) ack 1" in out
    assert "got  > P. 1:1001(1000) ack 1" in out
    assert "2 scripts: 1 passed, 1 failed" in out


def test_json_has_the_timeline(tmp_path: Path, capsys: CaptureFixture[str]) -> None:
    script = tmp_path / "good.pkt"
    script.write_text(GOOD)
    assert run(script, "--json") == 0
    (outcome,) = json.loads(capsys.readouterr().out)
    assert outcome["passed"] and outcome["failure"] is None
    assert outcome["timeline"][-1] == {
        "line": 10,
        "at": 0.2,
        "expected": "> P. 1:1001(1000) ack 1",
        "got": "> P. 1:1001(1000) ack 1",
    }


def test_another_stack_and_definitions(tmp_path: Path, capsys: CaptureFixture[str]) -> None:
    script = tmp_path / "defined.pkt"
    script.write_text(GOOD.replace("1000) = 1000", "SIZE) = SIZE"))
    assert run(script, "--stack", "tahoe", "--dialect", "plain", "--define", "SIZE=1000") == 0


def test_wrong_input_is_one_sentence(tmp_path: Path, capsys: CaptureFixture[str]) -> None:
    def said(*arguments: str | Path) -> str:
        assert run(*arguments) == 2
        captured = capsys.readouterr()
        assert captured.out == "" and captured.err.count("\n") == 1
        return captured.err.strip()

    script = tmp_path / "s.pkt"
    script.write_text("0 nothing\n")
    assert said(script) == f"ackclock: {script}:1:10: expected ( and the arguments, found the end of the line"
    wanted = "expected a script (.pkt), or a folder with some"
    assert said(tmp_path / "none.pkt") == f"ackclock: `{tmp_path / 'none.pkt'}` does not exist; {wanted}"
    script.write_bytes(b"\xff")
    assert said(script) == f"ackclock: `{script}` is not UTF-8 text at byte 0; {wanted}"
    script.write_text(GOOD)
    assert "`nosuch`" in said(script, "--stack", "nosuch")
    assert (
        said(script, "--define", "=x") == "ackclock: `--define =x` is no definition; give NAME or NAME=VALUE"
    )
    (tmp_path / "empty").mkdir()
    assert said(tmp_path / "empty") == f"ackclock: `{tmp_path / 'empty'}` has no script; scripts end in .pkt"
