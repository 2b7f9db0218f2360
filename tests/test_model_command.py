"""`ackclock model` for the formulas: ranges, several formulas side by side, curves."""

import json

import numpy as np
import pyarrow.parquet as pq
import pytest

from ackclock.cli import run_command
from ackclock.cli.values import parse
from ackclock.models import FORMULAS, Input
from ackclock.models import mathis97 as m
from ackclock.models import pftk98 as f
from ackclock.models import rfc9438 as cubic

P = Input("ratio", "p")
N = Input("count", "n")


def test_a_range_has_ten_values_a_decade_or_ten_steps():
    np.testing.assert_allclose(parse("--p", P, "0.001..0.1").array, np.geomspace(1e-3, 0.1, 21))
    np.testing.assert_allclose(parse("--p", P, "0.2..0.7").array, np.linspace(0.2, 0.7, 11))
    np.testing.assert_allclose(parse("--p", P, "0..1").array, np.linspace(0, 1, 11))
    np.testing.assert_allclose(parse("--p", P, "0.1..0.001").array, np.geomspace(0.1, 1e-3, 21))
    np.testing.assert_allclose(parse("--p", P, "0.01..0.5:4").array, np.linspace(0.01, 0.5, 4))
    np.testing.assert_allclose(parse("--p", P, "0.01..0.5:4log").array, np.geomspace(0.01, 0.5, 4))


def test_counts_stay_whole():
    assert parse("--n", N, "1..10").array.tolist() == list(range(1, 11))
    assert parse("--n", N, "10..8").array.tolist() == [10, 9, 8]
    assert parse("--n", N, "1..10:4").array.tolist() == [1, 4, 7, 10]
    wide = parse("--n", N, "1..1000")
    assert (wide.array == np.rint(wide.array)).all()
    assert len(wide.array) < 40


def test_values_of_a_command_are_those_of_the_function(ackclock):
    rows = ackclock(
        "model", "mathis", "--p", "0.001..0.1", "--rtt", "50ms,100ms", "--mss", "536B", "--json"
    ).json["rows"]
    assert len(rows) == 42
    given = {name: np.array([row[name] for row in rows]) for name in ("p", "rtt", "mss", "c")}
    np.testing.assert_allclose([row["BW"] for row in rows], m.bandwidth(**given), rtol=1e-15)
    # A default keeps the digits that its text does not show.
    assert rows[0]["c"] == np.sqrt(1.5)


def test_formulas_of_one_unit_stand_side_by_side(ackclock):
    done = ackclock(
        "model",
        "mathis",
        "--p",
        "0.0001,0.1",
        "--rtt",
        "100ms",
        "--beside",
        "pftk(rto=2s,b=1)",
        "--beside",
        "cubic",
        "--json",
    )
    assert done.code == 0, done
    (first, second) = done.json["rows"]
    assert first["pftk(rto=2s,b=1)"] == pytest.approx(float(f.send_rate(1e-4, 0.1, 2, 1460, 1)))
    # C of the one is not C of the other: their names differ.
    assert first["cubic"] == pytest.approx(float(cubic.bandwidth(1e-4, 0.1)))
    assert second["cubic"] == pytest.approx(8 * 1460 / 0.1 * 1.2 / np.sqrt(0.1))
    assert done.json["beside"][0]["inputs"] == {"rto": 2.0, "b": 1.0, "wmax": None}
    shown = ackclock("model", "mathis", "--p", "0.01", "--rtt", "100ms", "--beside", "pftk")
    assert "pftk: rto = 1 s, b = 2, wmax = inf" in shown.err


def test_a_folder_holds_the_rows_and_the_curve(ackclock, tmp_path):
    for name in ("a", "b"):
        done = ackclock(
            "model",
            "pftk",
            "--p",
            "0.0001..0.3",
            "--rtt",
            "100ms",
            "--rto",
            "1s,2s",
            "--beside",
            "mathis",
            "--out",
            name,
        )
        assert done.code == 0, done
    files = {path.name for path in (tmp_path / "a").iterdir()}
    assert files == {"rows.parquet", "curve.png", "curve.svg", "summary.json", "ackclock.json"}
    rows = pq.read_table(tmp_path / "a/rows.parquet").to_pydict()
    assert rows["B"] == [row["B"] for row in json.loads((tmp_path / "a/summary.json").read_text())["rows"]]
    assert rows["wmax"] == [np.inf] * len(rows["B"])
    for name in ("curve.png", "curve.svg", "rows.parquet"):
        assert (tmp_path / "a" / name).read_bytes() == (tmp_path / "b" / name).read_bytes()


def test_a_curve_over_values_for_each_flow(ackclock, tmp_path):
    assert ackclock("model", "B-E1", "--rto", "1s,2s", "--capacity", "0.1..1", "--out", "x").code == 0
    assert (tmp_path / "x/curve.png").exists()
    single = ackclock("model", "mathis", "--p", "0.01", "--rtt", "100ms", "--out", "y")
    assert {path.name for path in (tmp_path / "y").iterdir()} == {
        "rows.parquet",
        "summary.json",
        "ackclock.json",
    }
    assert "a range gives a figure too" in single.err


def test_lines_are_distinguished_by_their_values(ackclock, tmp_path):
    near = ["--p", "0.01..0.1", "--rtt", "100ms", "--c", "1,1.00000001", "--beside", "mathis(c=2)"]
    assert ackclock("model", "mathis", *near, "--out", "near").code == 0
    limits = ackclock(
        "model", "pftk", "--p", "0.01..0.1", "--rtt", "100ms", "--wmax", "20,inf", "--out", "limits", "--json"
    )
    assert limits.code == 0
    assert {row["wmax"] for row in limits.json["rows"]} == {20.0, None}
    svg = (tmp_path / "limits/curve.svg").read_text()
    assert "wmax = inf" in svg


def test_inputs_of_one_name_have_one_kind_and_beside_takes_its_own():
    forms = [o for o in FORMULAS.values() if o.paper in ("mathis97", "pftk98", "cardwell2000", "rfc9438")]
    for one in forms:
        for other in forms:
            for name in one.inputs.keys() & other.inputs.keys():
                assert one.unit != other.unit or one.inputs[name].kind == other.inputs[name].kind, (
                    one.name,
                    other.name,
                    name,
                )
    assert (
        run_command(
            [
                "model",
                "mathis",
                "--p",
                "0.1",
                "--rtt",
                "100ms",
                "--beside",
                "cubic(c-cubic=4, beta_cubic=0.5)",
            ]
        )
        == 0
    )


def test_ranges_over_many_decades():
    wide = parse("--p", P, "1e-300..1").array
    assert len(wide) == 3001
    assert parse("--p", P, "1e-320..1").array[-1] == 1.0


def test_axes_are_logarithmic_where_the_range_is():
    from ackclock.plot import curves

    x = np.geomspace(1e-4, 0.1, 50)
    axes = curves(x, [("y", x**-0.5)], title="t", xlabel="x", ylabel="y", log=True).axes[0]
    assert (axes.get_xscale(), axes.get_yscale()) == ("log", "log")
    axes = curves(x, [("y", x * 0)], title="t", xlabel="x", ylabel="y", log=True).axes[0]
    assert (axes.get_xscale(), axes.get_yscale()) == ("log", "linear")
    axes = curves(x, [("y", x)], title="t", xlabel="x", ylabel="y").axes[0]
    assert (axes.get_xscale(), axes.get_yscale()) == ("linear", "linear")


@pytest.mark.parametrize(
    "name",
    [o.name for o in FORMULAS.values() if o.paper in ("mathis97", "pftk98", "cardwell2000", "rfc9438")],
)
def test_the_command_line_knows_every_new_form(name):
    text = {"ratio": "0.1", "time": "100ms", "span": "100ms", "size": "1000B", "rate": "1Mbit/s"}
    given = [
        part
        for key, i in FORMULAS[name].inputs.items()
        for part in (f"--{key.replace('_', '-')}", text.get(i.kind, "5"))
    ]
    assert run_command(["model", name, *given, "--json"]) == 0


@pytest.mark.parametrize(
    ("arguments", "says"),
    [
        (["--p", "0..0.1:5log"], "needs values above zero"),
        (["--p", "0.001..2"], "between 0 and 1"),
        (["--p", "0.001..x"], "`x` is not a ratio"),
        (["--p", "0"], "`mathis` has no finite value there"),
        (["--p", "0.1", "--beside", "cardwell"], "gives bit/s"),
        (["--p", "0.1", "--beside", "pftc"], "did you mean `pftk`?"),
        (["--p", "0.1", "--beside", "pftk("], "names no formula"),
        (["--p", "0.1", "--beside", "pftk(x=1)"], "`pftk` has no input `x`; it has p, rtt"),
        (["--p", "0.1", "--beside", "pftk(rto=1)"], "`pftk(rto)`: `1` is not a time"),
        (["--p", "0.1", "--beside", "pftk(wmax=0)"], "above zero, or `inf`"),
        (["--p", "0.1", "--beside", "mathis"], "is the formula itself"),
        (["--p", "1e-320..0", "--out", "x"], "no finite value"),
        (["--p", "nan..1"], "`nan` is not a ratio"),
        (["--p", ".."], "is not a ratio"),
        (["--p", "0.1..0.2:0"], "has no values"),
        (["--p", "0.1", "--c", "1..inf"], "not a finite number"),
        (["--p", "1", "--beside", "pftk"], "`pftk` has no finite value there"),
        (["--p", "0.001..0.1", "--c", "1..2:13", "--out", "x"], "13 curves"),
    ],
)
def test_wrong_input_is_one_sentence(capsys, monkeypatch, tmp_path, arguments, says):
    monkeypatch.chdir(tmp_path)
    assert run_command(["model", "mathis", "--rtt", "100ms", *arguments]) == 2
    out, err = capsys.readouterr()
    assert out == ""
    assert err.count("\n") == 1
    assert says in err
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize(
    ("name", "hint"),
    [
        ("nosuch", ""),
        ("mathsi", "did you mean `mathis`"),
        ("MATHIS", "did you mean `mathis`"),
        ("m-e33", "did you mean `M-E3`"),
    ],
)
def test_an_unknown_model_names_the_nearest_and_how_to_list_all(ackclock, name, hint):
    done = ackclock("model", name)
    assert done.code == 2 and done.is_one_sentence(), done
    assert f"`{name}` is not a model; {hint}" in done.err
    assert done.err.rstrip().endswith("`ackclock model --help` lists all")
    assert len(done.err) < 160, done.err


def test_a_missing_input_is_named(ackclock):
    done = ackclock("model", "mathis-window", "--p", "0.1", "--beside", "cubic-window")
    assert done.is_one_sentence()
    assert "write cubic-window(rtt=VALUE)" in done.err
    done = ackclock("model", "B-E1", "--rto", "1s", "--capacity", "1", "--beside", "pftk")
    assert done.is_one_sentence()
    assert "for each flow" in done.err


def test_what_a_form_is_ends_with_its_sentence():
    assert all(f.about.endswith(".") for f in FORMULAS.values()), [f.about for f in FORMULAS.values()]
