"""Names and values from elsewhere are plain text for the terminal, spreadsheets and matplotlib."""

import io
import json
import sys

import pytest

import ackclock as ac
from ackclock import _core, console
from ackclock.cli import download, emulated
from ackclock.plain import cell, plain
from test_run_folder import made_up_run, names

ESCAPES = "\x1b]0;owned\x07\x1b[2J\x9b31m\u202e\x7f"
SCENARIO = """
duration = "2s"
title = "%s"
path = { kind = "single", rtt = "20ms", link = { rate = "10Mbit/s" } }
workload = { kind = "web", trace = "I", load = 0.5 }
stacks = { "%s" = "reno" }
"""


def quiet(text: str) -> bool:
    return not any(c in text for c in "\x1b\x07\x9b\u202e\x7f")


def toml(text: str) -> str:
    return "".join(f"\\u{ord(c):04x}" if not c.isprintable() else c.replace("\\", "\\\\") for c in text)


@pytest.mark.parametrize("arguments", [[], ["--json"], ["--set", f"{ESCAPES}=3"], ["--out", f"o{ESCAPES}"]])
def test_nothing_of_a_scenario_commands_the_terminal(ackclock, tmp_path, arguments):
    (tmp_path / "s.toml").write_text(SCENARIO % (toml(ESCAPES), toml(ESCAPES)))
    done = ackclock("run", "s.toml", *arguments)
    assert quiet(done.out + done.err), done
    if "--json" in arguments:
        assert done.json["title"] == ESCAPES


def test_keys_and_file_names_in_errors_are_escaped(ackclock, tmp_path):
    (tmp_path / "k.toml").write_text(f'"{toml(ESCAPES)}" = 1\n' + SCENARIO % ("t", "tcp"))
    for done in (
        ackclock("run", "k.toml"),
        ackclock("sweep", "k.toml"),
        ackclock("run", f"no{ESCAPES}"),
        ackclock(f"no{ESCAPES}"),
    ):
        assert done.code == 2 and done.is_one_sentence() and quiet(done.err), done
        assert "\\x1b]0;owned\\x07" in done.err or "\\u{1b}" in done.err, done


def test_tables_and_notes_and_bars_are_escaped(capsys):
    console.print_table([(f"a{ESCAPES}", "left")], [[ESCAPES]], title=None)
    console.note(ESCAPES)
    console.say(ESCAPES)
    console.print_json({"a": ESCAPES})
    found = capsys.readouterr()
    assert quiet(found.out + found.err)
    assert json.loads(found.out[found.out.index("{") :]) == {"a": ESCAPES}
    assert quiet(console.Bar(ESCAPES)._label)


@pytest.mark.parametrize(
    ("error", "code"),
    [(ac.InputError(f"`{ESCAPES}`\nis bad"), 3), (ValueError(ESCAPES), 3), (KeyboardInterrupt(), 130)],
)
def test_processes_of_their_own_say_what_failed_as_commands_do(capsys, monkeypatch, error, code):
    def fails(*given):
        raise error

    monkeypatch.setattr(_core, "kernel_web", fails, raising=False)
    monkeypatch.setattr(_core, "download_demo", fails, raising=False)
    monkeypatch.setattr(_core, "probe_emulated", fails, raising=False)
    for main in (emulated.main, lambda: download.main("folder")):
        monkeypatch.setattr(sys, "stdin", io.StringIO('[{"scenario": ""}]'))
        assert main() == code
        said = capsys.readouterr()
        assert said.out == "" and quiet(said.err)
        assert said.err.count("\n") == (code == 3)
        assert code != 3 or "\\x1b]0;owned\\x07" in said.err


def test_the_bar_of_the_download_is_escaped(capsys):
    download._progress(0.5, ESCAPES)
    said = capsys.readouterr().err
    assert quiet(said) and said.startswith("\r\\x1b]0;owned")


@pytest.mark.parametrize("text", ["=1+1", "+1", "-1", "@SUM(A1)", "\t=1", "\r=1"])
def test_no_cell_is_a_formula(text):
    assert cell(text).startswith("'") and plain(text) in cell(text)
    assert (cell(-1.5), cell(None), cell("10.0.0.1:80")) == (-1.5, None, "10.0.0.1:80")


@pytest.mark.parametrize("label", [r"$\frac{x$", "$x$", r"\$a$b", "$", "a_b^c"])
def test_labels_are_plain_words(ackclock, tmp_path, label):
    (tmp_path / "s.toml").write_text(SCENARIO % (label.replace("\\", "\\\\"), label.replace("\\", "\\\\")))
    done = ackclock("run", "s.toml", "--plot", "sequence", "--out", "o")
    assert done.code == 0, done
    assert "could not be drawn" not in done.err
    assert {"response_time.png", "sequence.svg", "summary.json"} <= names(tmp_path / "o")


def test_powers_at_axes_are_still_powers():
    fig = made_up_run().plot.ccdf("response_time")
    fig.savefig(io.BytesIO(), format="svg")
    labels = [t for t in fig.axes[0].yaxis.get_ticklabels() if "$" in t.get_text()]
    assert all(t.get_parse_math() for t in labels)
    assert not fig.axes[0].title.get_parse_math()


def test_a_figure_that_fails_loses_no_run(tmp_path):
    def fails():
        raise ValueError("no\x1b such figure")

    with pytest.warns(UserWarning, match=r"the figure `broken` could not be drawn \(ValueError: no"):
        made_up_run().save(tmp_path / "run", {"broken": fails})
    assert "broken.png" not in names(tmp_path / "run")
    assert ac.load(tmp_path / "run").flows.num_rows == 8
