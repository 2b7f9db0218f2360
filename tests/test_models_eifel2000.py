"""The step-by-step model of the Eifel paper, driven by the estimators that connections run."""

import numpy as np
import pyarrow as pa
import pyarrow.csv
import pyarrow.parquet as pq
import pytest

import ackclock as ac
from ackclock.models import Timer
from ackclock.models.eifel2000 import RowModel, exact
from ackclock.reproduce import ITEMS
from ackclock.reproduce.eifel2000 import f3_prediction_flaw


@pytest.mark.parametrize(("load", "rows", "from_half"), [(10, 40, 45), (26, 260, 273), (40, 610, 630)])
def test_a_cycle_has_the_rows_of_the_definition(load, rows, from_half):
    assert RowModel(load).cycle_rows == rows
    assert RowModel(load, from_half=True).cycle_rows == from_half


def test_a_flight_of_n_is_n_rows_of_n_service_times():
    s = RowModel(6, 2, 0.5).series()
    assert s["load"].tolist() == [4] * 4 + [5] * 5 + [6] * 6 + [4] * 4 + [5] * 5 + [6] * 6
    np.testing.assert_allclose(s["rtt"], s["load"] * 0.5)
    np.testing.assert_allclose(np.diff(s["time"]), 0.5)
    # The segment whose ack the next row is was sent that row's round-trip time before it.
    np.testing.assert_allclose(s["time"][:-1] - s["age"][:-1], s["time"][1:] - s["rtt"][1:])


def test_sampling_decides_which_rows_bring_a_sample():
    for sampling, share in (("every", 1.0), ("delayed", 0.5), ("once", 5 / 40)):
        model = RowModel(10, 4, sampling=sampling)
        assert model.series()["sampled"].mean() == share
        rows = model.run(exact("lite"))
        # Between samples nothing moves.
        held = np.flatnonzero(~rows.series["sampled"][1:]) + 1
        assert (rows.rto[held] == rows.before[held]).sum() >= held.size - 1


def test_the_service_time_only_scales():
    one, other = (RowModel(26, 5, unit).run(exact("eifel")).rto / unit for unit in (1.0, 0.25))
    np.testing.assert_allclose(one, other, rtol=1e-7)


def test_every_column_is_there_for_every_timer():
    table = RowModel(10, 3).table([exact("lite"), exact("eifel"), exact("eifel-agg")])
    assert table.num_rows == 120
    names = set(table.column_names)
    assert {"time", "load", "rtt", "cwnd", "ssthresh", "age"} <= names
    for timer in map(str, (exact("lite"), exact("eifel"))):
        assert {
            f"{timer}.{c}"
            for c in ("delta", "srtt", "rttvar", "rto", "margin", "spurious", "precise", "restart")
        } <= names
    assert {f"{exact('eifel')}.{c}" for c in ("flight", "gain")} <= names
    assert f"{exact('eifel-agg')}.agg" in names


def test_timers_are_read_with_their_parameters():
    assert Timer.parse(" eifel( tick=10ms , weight=2 )") == Timer(
        "eifel", (("tick", "10ms"), ("weight", "2"))
    )
    assert str(Timer.parse("lite(tick=1ms)")) == "lite(tick=1ms)"
    for text, says in (
        ("fast", "rfc6298"),
        ("lite(tick)", "tick=10ms"),
        ("lite(tick=1)", "unit"),
        ("lite(tock=1ms)", "tick"),
        ("li te", "such as"),
    ):
        with pytest.raises(ac.InputError, match=says):
            Timer.parse(text)


def test_models_that_cannot_be_are_refused():
    for wrong in (
        {"load": 1},
        {"cycles": 0},
        {"service_time": 0.0},
        {"sampling": "often"},
        {"load": 3000, "cycles": 1000},
    ):
        with pytest.raises(ac.InputError):
            RowModel(**wrong)


@pytest.mark.parametrize(
    "id", [i.id for i in ITEMS.values() if i.paper == "eifel2000" and i.kind in ("CF", "MODEL")]
)
def test_every_item_runs_and_holds(id):
    outcome = ITEMS[id].run()
    assert outcome.checks
    assert outcome.holds, [c for c in outcome.checks if not c.holds]
    assert outcome.tables


def test_the_checks_of_a_timer_without_the_flaw_fall_short():
    eifel = RowModel(10, 30).run(exact("eifel")).cycle()
    assert not any(c.holds for c in f3_prediction_flaw.checks(eifel.rto, float(eifel.before[0]))[2:])


def test_the_command_prints_the_golden_numbers(ackclock, tmp_path):
    done = ackclock("model", "eifel", "--load", "26", "--out", "model", "--json")
    assert done.code == 0, done.err
    lite, eifel = done.json["timers"]
    assert (lite["rto_max_row"], lite["rows_without_margin"], lite["least_margin_row"]) == (4, 10, 235)
    assert lite["rto_max"] == pytest.approx(46.9243, rel=5e-6)
    assert eifel["least_margin"] == pytest.approx(11.1731, rel=5e-6)
    assert pq.read_table(tmp_path / "model/rows.parquet").num_rows == 30 * 260
    assert (tmp_path / "model/rto.png").stat().st_size > 10_000
    assert (
        ackclock("model", "eifel", "--timer", "rfc793", "--timer", "lite(min_rto=1s)", "--tick", "10ms").code
        == 0
    )


@pytest.mark.parametrize(
    ("arguments", "says"),
    [
        (["--timer", "fast"], "`fast` is not a known estimator"),
        (["--tick", "5"], "`--tick`: `5` is not a time"),
        (["--tick", "11s"], "at most 10s"),
        (["--service-time", "0s"], "above zero"),
        (["--load", "1"], "--load"),
        (["--load", "3000", "--cycles", "100000"], "at most"),
    ],
)
def test_wrong_input_is_one_sentence(ackclock, tmp_path, arguments, says):
    done = ackclock("model", "eifel", *arguments)
    assert done.code == 2
    assert done.is_one_sentence(), done.err
    assert says in done.err
    assert list(tmp_path.iterdir()) == []


def test_a_series_from_a_file_gives_the_rows_of_the_model(ackclock, tmp_path):
    s = RowModel(26, 30).series()
    columns = {
        "time": s["time"].astype(float),
        "rtt": s["rtt"].astype(float),
        "flight": s["load"],
        "cwnd": s["cwnd"],
        "ssthresh": s["ssthresh"],
    }
    pa.csv.write_csv(pa.table(columns), tmp_path / "s.csv")
    done = ackclock("model", "eifel", "--series", "s.csv", "--out", "model", "--json")
    assert done.code == 0, done.err
    table = pq.read_table(tmp_path / "model/rows.parquet")
    whole = RowModel(26, 30)
    for name in ("lite", "eifel"):
        rto = next(
            table[c].to_numpy() for c in table.column_names if c.startswith(f"{name}(") and c.endswith(".rto")
        )
        np.testing.assert_allclose(rto, whole.run(exact(name)).rto, rtol=1e-8)
    assert done.json["rows"] == 30 * 260
    assert done.json["timers"][0]["rto_end"] == pytest.approx(26.2210, rel=5e-6)
    assert ackclock("model", "eifel", "--series", "s.csv").out.startswith("7800 rows")


@pytest.mark.parametrize(
    ("arguments", "says"),
    [
        (["--series", "none.csv"], "`none.csv` is not a file"),
        (["--series", "s.csv", "--load", "10"], "leave `--load` out"),
        (["--series", "s.csv"], "1 valid samples"),
        (["--series", "w.csv"], "row 1: `cwnd` is -1"),
    ],
)
def test_an_invalid_series_is_refused(ackclock, tmp_path, arguments, says):
    (tmp_path / "s.csv").write_text("time,rtt\n1,1\n2,\n")
    (tmp_path / "w.csv").write_text("time,rtt,cwnd\n1,1,-1\n2,1,1\n")
    done = ackclock("model", "eifel", *arguments)
    assert done.code == 2
    assert done.is_one_sentence(), done.err
    assert says in done.err
