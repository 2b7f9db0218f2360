"""Completion in shells, and the man pages: both from the declarations of the commands."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import click
import pytest

from ackclock.cli import COMMANDS, COMPLETE, command
from ackclock.cli.completion import SHELLS

ROOT = Path(__file__).parents[1]
# What bash does on the key Tab: the words of the line, the place of the last one, the script's function.
ASK = """
source <(ackclock completion bash) || exit 1
COMP_WORDS=({words}) COMP_CWORD=$(( ${{#COMP_WORDS[@]}} - 1 ))
_ackclock_completion ackclock
printf '%s\\n' "${{COMPREPLY[@]}}"
"""


OFFERED = [
    ("ackclock po", {"policies"}),
    ("ackclock run --pl", {"--plot"}),
    ("ackclock run --plot thr", {"throughput"}),
    ("ackclock passport cub", {"cubic"}),
    ("ackclock policies slow_s", {"slow_start"}),
    ("ackclock reproduce b-f2", {"B-F2a", "B-F2b", "B-F2c"}),
    ("ackclock model pftk-t", {"pftk-throughput", "pftk-timeouts"}),
    ("ackclock script --stack linux+early", {"linux+early-retransmit", "linux+early-acks"}),
    ("ackclock capture x --what-if rfc6298,coc", {"rfc6298,cocoa"}),
    ("ackclock completion fi", {"fish"}),
]
FILE = ("ackclock run min", {"mine.toml"})
"""Lines that are not finished, and what a shell offers for their last word."""


@pytest.fixture
def path(tmp_path):
    """An environment in which `ackclock` is this one, whatever else is installed."""
    program = tmp_path / "ackclock"
    program.write_text(f'#!/bin/sh\nexec "{sys.executable}" -m ackclock "$@"\n')
    program.chmod(0o755)
    return os.environ | {"PATH": f"{tmp_path}:{os.environ['PATH']}"}


def modern_bash():
    bash = shutil.which("bash")
    if not bash:
        return False
    ask = 'echo "${BASH_VERSINFO[0]} ${BASH_VERSINFO[1]}"'
    found = subprocess.run([bash, "-c", ask], capture_output=True, text=True, check=True).stdout
    return tuple(map(int, found.split())) >= (4, 4)


def completed(words, env):
    done = subprocess.run(
        ["bash", "--norc", "-c", ASK.format(words=words)],
        capture_output=True,
        text=True,
        check=False,
        env=env,
    )
    assert done.returncode == 0 and done.stderr == "", done.stderr
    return done.stdout.splitlines()


@pytest.mark.skipif(sys.platform == "win32" or not modern_bash(), reason="needs bash 4.4")
@pytest.mark.parametrize(("words", "expected"), OFFERED)
def test_bash_completes_commands_options_and_names(path, words, expected):
    assert set(completed(words, path)) == expected


@pytest.mark.skipif(sys.platform == "win32" or not modern_bash(), reason="needs bash 4.4")
def test_bash_completes_every_command(path):
    assert completed("ackclock ''", path) == list(COMMANDS)


# What fish offers for a line that is not finished.
FISH = """
ackclock completion fish | source; or exit 1
complete -C "$argv[1]"
"""


@pytest.mark.skipif(not shutil.which("fish"), reason="needs fish")
@pytest.mark.parametrize(("line", "expected"), [*OFFERED, FILE])
def test_fish_completes_commands_options_names_and_files(path, tmp_path, line, expected):
    (tmp_path / "mine.toml").touch()
    done = subprocess.run(
        ["fish", "--no-config", "-c", FISH, line],
        capture_output=True,
        text=True,
        check=False,
        cwd=tmp_path,
        env=path | {"HOME": str(tmp_path), "XDG_CONFIG_HOME": str(tmp_path)},
    )
    assert done.returncode == 0 and done.stderr == "", done.stderr
    # A description follows after a tab.
    offered = dict(line.partition("\t")[::2] for line in done.stdout.splitlines())
    assert set(offered) == expected
    if "policies" in offered:
        assert offered["policies"] == COMMANDS["policies"]


# An interactive zsh behind a pseudo-terminal: the keys of a line, Tab, and the key that shows the line.
ZSH = r"""
zmodload zsh/zpty || exit 1
zpty shell 'TERM=dumb COLUMNS=200 zsh -f -i'
tell() { zpty -w shell "$1" }
tell 'PS1=; unset zle_bracketed_paste; LISTMAX=0; unsetopt listambiguous'
tell 'autoload -Uz compinit; compinit -D -u'
tell 'eval "$(ackclock completion zsh)" || echo "@failed@"'
tell 'show() { print -r -- "@[$BUFFER]@"; BUFFER= ; zle reset-prompt }; zle -N show; bindkey "^X" show'
tell 'print -r -- "@rea""dy@"'
zpty -r -m shell got '*@ready@*' || exit 1
zpty -w -n shell "$1"$'\t'$'\x18'
zpty -r -m shell got '*]@*' || exit 1
print -r -- "$got"
"""


@pytest.mark.skipif(not shutil.which("zsh"), reason="needs zsh")
@pytest.mark.parametrize(("line", "expected"), [*OFFERED, FILE])
def test_zsh_completes_commands_options_names_and_files(path, tmp_path, line, expected):
    (tmp_path / "mine.toml").touch()
    done = subprocess.run(
        ["zsh", "-f", "-c", ZSH, "zsh", line],
        capture_output=True,
        text=True,
        check=False,
        timeout=120,
        cwd=tmp_path,
        env=path | {"HOME": str(tmp_path), "ZDOTDIR": str(tmp_path)},
    )
    assert done.returncode == 0 and done.stderr == "", done.stdout + done.stderr
    written = re.findall(r"@\[(.*)\]@", done.stdout)[-1]
    if len(expected) == 1:
        assert written.split() == [*line.split()[:-1], *expected]
    else:
        # It writes what all have in common, and lists them.
        begun = written.split()[-1]
        words = set(re.findall(r"[\w+-]+", done.stdout.replace("\b", " ")))
        assert {word for word in words if word.startswith(begun)} - {begun} == expected


@pytest.mark.parametrize("shell", SHELLS)
def test_every_script_asks_by_the_variable_that_is_answered(shell, ackclock):
    done = ackclock("completion", shell)
    assert done.code == 0 and done.err == ""
    assert f"{COMPLETE}={shell}_complete" in done.out
    checker = shutil.which(shell)
    if checker:
        checked = subprocess.run([checker, "-n"], input=done.out, capture_output=True, text=True, check=False)
        assert checked.returncode == 0, checked.stderr


@pytest.mark.parametrize("value", ["", "bash_source", "tcsh_complete", "x"])
def test_a_variable_that_asks_for_nothing_changes_nothing(ackclock, monkeypatch, value):
    monkeypatch.setenv(COMPLETE, value)
    done = ackclock("policies", "--json")
    assert done.code == 0 and len(done.json) > 50


def test_another_shell_is_refused(ackclock):
    done = ackclock("completion", "tcsh")
    assert done.code == 2 and done.is_one_sentence()
    assert all(shell in done.err for shell in SHELLS)


def test_registers_have_the_ids_of_all_items():
    from ackclock.cli.completion import items
    from ackclock.reproduce import ITEMS, PAPERS

    context = click.Context(command)
    found = {item.value for item in items(context, click.Argument(["x"]), "")}
    assert found == {"all", *PAPERS, *ITEMS}


@pytest.fixture(scope="module")
def pages(tmp_path_factory):
    folder = tmp_path_factory.mktemp("man")
    subprocess.run([sys.executable, ROOT / "docs/man.py", folder], check=True)
    return {file.stem: file.read_text(encoding="utf-8") for file in folder.glob("*.1")}


def commands(one: click.Command, name: str, parent: click.Context | None = None):
    """Every command below this one, with the name of its page."""
    context = click.Context(one, info_name=name, parent=parent)
    yield context.command_path.replace(" ", "-"), one
    if isinstance(one, click.Group):
        for below in one.list_commands(context):
            yield from commands(one.get_command(context, below), below, context)


def test_every_command_and_every_option_has_its_place_in_the_man_pages(pages):
    known = dict(commands(command, "ackclock"))
    assert set(pages) == set(known)
    assert len(known) > len(COMMANDS) + 50
    for name, one in known.items():
        plain = pages[name].replace("\\-", "-").replace("\\fB", "").replace("\\fP", "")
        for parameter in one.params:
            if isinstance(parameter, click.Option):
                assert all(option in plain for option in parameter.opts), (name, parameter.opts)
    for name in COMMANDS:
        assert f"ackclock-{name}(1)" in pages["ackclock"].replace("\\-", "-").replace("\\fP", "")


def test_lines_to_type_are_as_far_in_as_each_other_in_the_man_pages(pages):
    typed = {name: re.findall(r"^( +)ackclock ", text, re.MULTILINE) for name, text in pages.items()}
    assert sum(map(bool, typed.values())) > 5
    assert not {name: spaces for name, spaces in typed.items() if len(set(spaces)) > 1}


def test_lines_to_type_fit_a_page_of_80_columns(pages):
    # A page of man is seven columns in.
    typed = [line for text in pages.values() for line in text.splitlines() if line.startswith("    ackclock")]
    assert len(typed) > 20
    assert not [line for line in typed if len(line.replace("\\-", "-")) > 73]


def test_man_pages_have_no_control_characters_and_begin_no_line_with_a_request_that_is_none(pages):
    requests = re.compile(r"\.(TH|SH|PP|TP|B|nf|fi|br|nh|ad)( |$)")
    for name, text in pages.items():
        assert not re.search(r"[\x00-\x08\x0b-\x1f]", text), name
        for line in text.splitlines():
            assert not line.startswith("'"), (name, line)
            assert not line.startswith(".") or requests.match(line), (name, line)


@pytest.mark.skipif(not shutil.which("man"), reason="needs man")
def test_man_shows_the_pages_without_complaints(pages, tmp_path):
    for name in ("ackclock", "ackclock-run", "ackclock-completion"):
        file = tmp_path / f"{name}.1"
        file.write_text(pages[name], encoding="utf-8")
        done = subprocess.run(
            ["man", "--warnings", "-l", str(file)],
            capture_output=True,
            text=True,
            check=False,
            env=os.environ | {"PAGER": "cat", "MANPAGER": "cat", "MANWIDTH": "80"},
        )
        assert done.returncode == 0 and done.stderr == "", done.stderr
        assert "SYNOPSIS" in done.stdout
        assert done.stdout.startswith(f"{name.upper()}(1)")
        assert not [line for line in done.stdout.splitlines() if len(line) > 80 or line.endswith("\u2010")]
    # What is to be typed, and what is said of the next shell, are lines of their own.
    assert [line.strip() for line in done.stdout.splitlines() if "zsh" in line][-2:] == [
        "zsh, in ~/.zshrc after compinit:",
        'eval "$(ackclock completion zsh)"',
    ]


@pytest.mark.parametrize(
    ("shell", "file"),
    [
        ("bash", "bash-completion/completions/ackclock"),
        ("zsh", "zsh/site-functions/_ackclock"),
        ("fish", "fish/vendor_completions.d/ackclock.fish"),
    ],
)
def test_wheels_have_the_scripts_that_the_command_prints(ackclock, shell, file):
    assert (ROOT / "ackclock.data/data/share" / file).read_text() == ackclock("completion", shell).out
