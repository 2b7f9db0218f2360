"""`ackclock timers`: any retransmission timer over any series."""

import numpy as np
import pyarrow as pa
import pyarrow.csv
import pyarrow.parquet as pq
import pytest

from ackclock.models.eifel2000 import RowModel
from ackclock.results.safety import answer, verdict


@pytest.fixture
def sawtooth(tmp_path):
    s = RowModel(40, 30).series()
    table = pa.table(
        {"time": s["time"].astype(float), "rtt": s["rtt"], "flight": s["load"], "note": ["x"] * s["rtt"].size}
    )
    pq.write_table(table, tmp_path / "saw.parquet", row_group_size=1000)
    pa.csv.write_csv(table, tmp_path / "saw.csv")
    return tmp_path


def test_csv_and_parquet_give_the_same_and_the_row_model_s_counts(ackclock, sawtooth):
    timer = "lite(tick=0s,max_rto=1h)"
    found = [ackclock("timers", f"saw.{end}", "--timer", timer, "--json").json for end in ("csv", "parquet")]
    assert found[0]["timers"] == found[1]["timers"]
    (lite,) = found[0]["timers"]
    # E-E18: 18 rows of each cycle lack margin in steady state.
    model = ackclock("model", "eifel", "--timer", timer, "--json").json["timers"][0]
    assert lite["spurious"] == model["spurious"]
    assert found[0]["rows"] == lite["samples"] == 30 * 610
    assert (sawtooth / "runs/timers-saw/timers.png").stat().st_size > 10_000


def test_every_timer_is_replayed_and_marked_losses_are_summed_apart(ackclock, tmp_path):
    rows = ["time,rtt,lost"] + [
        f"{10 + i},{'' if i == 3 else 2},{'true' if i == 5 else 'false'}" for i in range(10)
    ]
    (tmp_path / "s.csv").write_text("\n".join(rows) + "\n")
    done = ackclock("timers", "s.csv", "--json")
    assert done.code == 0, done.err
    names = [t["timer"] for t in done.json["timers"]]
    assert {"rfc793", "lite", "eifel", "eifel-agg", "rfc6298"} <= set(names)
    first = done.json["timers"][0]
    assert (done.json["lost"], first["samples"], first["skipped"], first["marked_precise"]["count"]) == (
        1,
        8,
        2,
        1,
    )
    text = ackclock("timers", "s.csv", "--timer", "rfc793")
    assert text.code == 0
    assert "marked losses cost" in text.out


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ("time,delay\n1,2\n", "has no column `rtt`"),
        ("time,rtt\n1,2\n2,x\n", "x"),
        ("time,rtt\n1,2\n2,-1\n", "row 2: `rtt` is -1"),
        ("time,rtt\n2,1\n1,1\n", "row 2: `time` is 1; give times that never fall"),
        ("time,rtt\n,1\n", "row 1: `time` is nan"),
        ("time,rtt\n1,inf\n", "row 1: `rtt` is inf"),
        ("time,rtt\n", "has no rows"),
        ("", "cannot be read as a series (Empty CSV file); give CSV or Parquet with seconds"),
        ("time,rtt\n1,1\n", "1 valid samples"),
        ("time,rtt,flight\n1,1,1e30\n", "`flight` is 1e+30"),
        ("time,rtt\n1,1,1\n", "columns"),
        ("PAR1 and no more", "s.csv"),
    ],
)
def test_wrong_series_are_one_sentence(ackclock, tmp_path, text, says):
    (tmp_path / "s.csv").write_text(text)
    done = ackclock("timers", "s.csv", "--timer", "eifel")
    assert done.code == 2, done.err
    assert done.is_one_sentence(), done.err
    assert says in done.err
    assert [p.name for p in tmp_path.iterdir()] == ["s.csv"]


def test_wrong_usage_is_one_sentence(ackclock, tmp_path):
    for arguments, says in (
        (["none.csv"], "`none.csv` is not a file"),
        (["none.csv", "--timer", "fast"], "`fast` is not a known estimator"),
    ):
        done = ackclock("timers", *arguments)
        assert done.code == 2
        assert done.is_one_sentence(), done.err
        assert says in done.err


def test_an_outline_bounds_what_is_kept(ackclock, tmp_path):
    n = 200_000
    rtt = np.random.default_rng(1).uniform(0.1, 0.2, n)
    pq.write_table(pa.table({"time": np.arange(n) * 0.01, "rtt": rtt}), tmp_path / "long.parquet")
    done = ackclock("timers", "long.parquet", "--timer", "jacobson88", "--timer", "lite", "--json")
    assert done.code == 0, done.err
    outline = pq.read_table(tmp_path / "runs/timers-long/outline.parquet").to_pydict()
    assert len(outline["time"]) <= 2 * 2000
    assert sum(outline["samples"]) == 2 * n
    assert max(outline["rtt_max"]) == pytest.approx(rtt.max(), abs=1e-9)


def test_the_first_sentence_says_which_timers_are_safe(ackclock, tmp_path):
    # The series of the first steps: a spike of 870 ms that a minimum of 200 ms does not survive.
    rows = "0.10,0.100\n0.21,0.104\n0.32,0.110\n0.43,0.105\n1.30,0.870\n1.42,0.120\n1.53,0.102\n"
    (tmp_path / "s.csv").write_text(f"time,rtt\n{rows}")
    done = ackclock("timers", "s.csv", "--timer", "rfc6298", "--timer", "eifel")
    first, second = done.out.splitlines()[:2]
    assert first == (
        "On this series of 6 round trips after the first, safe: rfc6298; not safe: eifel (1 spurious "
        "timeout)."
    )
    # 0.05 ** (1 / 6) = 0.607
    assert "fewer than 39 % of such timeouts" in second
    alone = ackclock("timers", "s.csv", "--timer", "eifel", "--json").json
    assert alone["answer"] == [
        "eifel is not safe on this series: 1 spurious timeout in 6 round trips after the first."
    ]
    assert alone["timers"][0]["verdict"] == "not safe"


def replayed(name, spurious, of=10_000, waits=1.0):
    return {
        "timer": name,
        "spurious": spurious,
        "ratio": {"count": of},
        "cost_precise": {"mean": waits},
    }


def test_a_timer_is_nearly_safe_up_to_one_spurious_timeout_in_a_thousand():
    assert [verdict(replayed("x", n)) for n in (0, 1, 10, 11)] == [
        "safe",
        "nearly safe",
        "nearly safe",
        "not safe",
    ]


def test_of_several_safe_timers_the_answer_names_the_one_that_waits_least():
    said = answer([replayed("slow", 0), replayed("fast", 0, waits=0.25), replayed("rash", 11, waits=0.1)])
    assert said == [
        "On this series of 10,000 round trips after the first, safe: slow, fast; not safe: rash (11 spurious "
        "timeouts).",
        "Of the safe ones, fast sends a lost segment again soonest, after 250 ms on average.",
    ]
    alike = answer([replayed("a", 0, waits=1.01), replayed("b", 0, waits=1.0), replayed("c", 0, waits=1.1)])
    assert alike[-1] == "Of the safe ones, a and b send a lost segment again soonest, after 1 s on average."
