from __future__ import annotations

import random
from contextlib import contextmanager

import pytest

import ackclock as ac
from ackclock.results.folder import table_bytes
from ackclock.sweep import runs, work
from ackclock.sweep.schedule import BUDGET, Schedule

AXES = {
    "random_loss": {"key": "path.link.faults.0.p", "values": [0.001, 0.02]},
    ("stacks.tcp.mss", "path.rtt"): [("536B", "20ms"), ("1460B", "60ms")],
}


def scenario(**options) -> ac.Scenario:
    path = ac.Single(ac.Link("10Mbit/s", faults=[ac.fault.Loss(p=0.01)]), rtt="20ms")
    return ac.Scenario.of(
        path, ac.Fixed(flows=3, size="100kB"), {"tcp": ac.Stack("sack")}, **{"duration": "5s", **options}
    )


def names(result) -> list[bytes]:
    return [table_bytes(t) for t in (result.table, result.flows, result.links)]


def test_tables_have_the_axes_and_the_seed_in_front_in_the_order_of_the_plan():
    found = ac.Sweep(scenario(trace=["samples", "episodes"]), AXES, seeds=2).run(workers=2)
    front = ["random_loss", "stacks.tcp.mss", "path.rtt", "seed"]
    for table in (found.table, found.flows, found.links, found.samples, found.episodes):
        assert table.column_names[:4] == front
    rows = found.table.select(front).to_pylist()
    assert [tuple(r.values()) for r in rows] == [
        (p, mss, rtt, seed)
        for p in (0.001, 0.02)
        for mss, rtt in ((536, 0.02), (1460, 0.06))
        for seed in (1, 2)
    ]
    assert found.table.schema.field("path.rtt").metadata == {b"unit": b"s"}
    # What an axis says is what was run.
    for row in found.flows.to_pylist():
        assert row["path_rtt"] == row["path.rtt"]
    with pytest.raises(ac.InputError, match="packets"):
        _ = found.segments


def test_a_sweep_is_what_its_runs_are_one_by_one():
    found = ac.Sweep(scenario(), AXES, seeds=[7]).run(workers=2)
    one = (
        scenario(seed=7)
        .but({"path.link.faults.0.p": 0.02, "stacks.tcp.mss": "1460B", "path.rtt": "60ms"})
        .simulate()
    )
    values, last = list(found.runs())[-1]
    assert values == {"random_loss": 0.02, "stacks.tcp.mss": 1460, "path.rtt": 0.06, "seed": 7}
    assert last.flows.equals(one.flows)
    assert last.links.equals(one.links)
    assert last.stacks == one.stacks


def test_tables_do_not_depend_on_workers_kept_runs_or_their_order(tmp_path):
    sweep = ac.Sweep(scenario(), AXES, seeds=3, where="seed < 3 or random_loss > 0.01")
    wanted = sweep.run(workers=1)
    assert len(wanted) == 10
    # Part of it was made before, by another sweep, in another order.
    ac.Sweep(scenario(), {**dict(reversed(AXES.items()))}, seeds=[2, 1]).run(keep=tmp_path)
    resumed = sweep.run(workers=3, keep=tmp_path)
    assert (resumed.found, resumed.fresh) == (8, 2)
    again = sweep.run(keep=tmp_path)
    assert (again.found, again.fresh) == (10, 0)
    assert names(wanted) == names(resumed) == names(again)


def test_a_run_that_is_kept_is_a_run_folder(tmp_path):
    ac.Sweep(scenario(), {}).run(keep=tmp_path)
    (place,) = tmp_path.glob("*/*")
    run = ac.load(place)
    assert run.flows.equals(scenario().simulate().flows)
    assert run.scenario == scenario().resolve()


@pytest.mark.parametrize("harm", ["truncate", "flip", "remove", "summary", "empty"])
def test_what_is_damaged_or_half_written_is_made_again(tmp_path, harm):
    sweep = ac.Sweep(scenario(), {"path.rtt": ["20ms", "40ms"]})
    wanted = sweep.run(keep=tmp_path)
    place = sorted(tmp_path.glob("*/*"))[0]
    file = place / ("summary.json" if harm in ("summary", "empty") else "flows.parquet")
    data = file.read_bytes()
    match harm:
        case "truncate":
            file.write_bytes(data[: len(data) // 2])
        case "flip":
            file.write_bytes(data[:500] + bytes([data[500] ^ 1]) + data[501:])
        case "remove":
            file.unlink()
        case "summary":
            file.write_bytes(data.replace(b'"flows": 3', b'"flows": 4', 1))
            assert file.read_bytes() != data
        case "empty":
            file.write_bytes(b"")
    found = sweep.run(keep=tmp_path)
    assert (found.found, found.fresh) == (1, 1)
    assert names(found) == names(wanted)
    assert not list(tmp_path.glob(".partial-*"))


def test_runs_of_another_engine_are_not_taken(tmp_path, monkeypatch):
    sweep = ac.Sweep(scenario(), {})
    sweep.run(keep=tmp_path)
    assert work.engine().startswith(ac.__version__ + "+")
    monkeypatch.setattr("ackclock.sweep.worlds.engine", lambda: "another")
    monkeypatch.setattr(runs, "engine", lambda: "another")
    assert sweep.run(keep=tmp_path).found == 0
    with pytest.raises(ac.InputError, match="install the same ackclock"):
        work.batch("", [work.Job("k", scenario().resolve())], 1.0, 1, "another", False)


def test_points_that_resolve_to_the_same_scenario_are_run_once(tmp_path):
    found = ac.Sweep(
        scenario(), {"tcp": {"key": "stacks.tcp", "values": {"a": "sack", "b": {"preset": "sack"}}}}
    ).run(keep=tmp_path)
    assert len(found) == 2
    assert found.fresh == 1


def test_a_failure_is_reported_and_the_others_are_run():
    sweep = ac.Sweep(scenario(), {"path.rtt": ["20ms", "forty", "60ms"]})
    with pytest.raises(ac.InputError, match=r"path.rtt = forty: `path.rtt` is `forty`, which is not a time"):
        sweep.run()
    found = sweep.run(strict=False)
    assert found.table["path.rtt"].to_pylist() == ["20ms", "60ms"]
    ((case, failure),) = found.failures
    assert case.values == {"path.rtt": "forty"}
    assert failure.bad_input


def test_a_run_that_fails_on_its_worker_leaves_the_others_alone(monkeypatch):
    made = ac.Scenario.simulate

    def simulate(self, **options):
        if 'rtt = "40ms"' in self.text:
            raise ac.SimulationError("the books do not balance")
        return made(self, **options)

    monkeypatch.setattr(ac.Scenario, "simulate", simulate)
    sweep = ac.Sweep(scenario(), {"path.rtt": ["20ms", "40ms", "60ms"]}, seeds=2)
    found = sweep.run(workers=2, strict=False)
    assert [(c.seed, f.reason, f.bad_input) for c, f in found.failures] == [
        (s, "the books do not balance", False) for s in (1, 2)
    ]
    assert len(found) == 4
    with pytest.raises(ac.SimulationError, match=r"path\.rtt = 40 ms, seed 1: the books do not balance"):
        sweep.run(workers=2)


def test_what_is_no_product_is_a_list_of_scenarios(tmp_path):
    wanted = [scenario(seed=s, duration=f"{s}s") for s in (3, 1, 2)]
    reported = []
    found = ac.sweep.run_all(
        wanted, keep=tmp_path, progress=lambda share, label: reported.append((share, label))
    )
    assert [r.flows for r in found] == [s.simulate().flows for s in wanted]
    assert reported[-1] == (1.0, "3 of 3 runs")
    assert ac.sweep.run_all([]) == []
    with pytest.raises(ac.InputError, match="rttt"):
        ac.sweep.run_all([wanted[0], scenario().but({"path.rttt": "1s"})])


def test_seeds_are_a_number_a_list_a_range_or_those_of_the_scenario():
    def seeds(given, **options):
        return [c.seed for c in ac.Sweep(scenario(**options), {}, seeds=given).cases()]

    assert seeds(3) == [1, 2, 3]
    assert seeds([5, 2]) == [5, 2]
    assert seeds("10..12") == [10, 11, 12]
    assert seeds(None, seed=9) == [9]
    assert seeds(None, seeds=[4, 6]) == [4, 6]
    for wrong in (0, True, "1-3", [], [1, 1], [-1], "9..1"):
        with pytest.raises(ac.InputError, match="seed"):
            seeds(wrong)


def test_a_sweep_that_is_too_large_reports_its_size():
    with pytest.raises(
        ac.InputError,
        match=r"18,000 runs \(9000 of `path.rtt`, and seeds\); expected at most 10,000, or set "
        r"`most = 18000`",
    ):
        ac.Sweep(scenario(), {"path.rtt": "1ms..1s:9000"}, seeds=2).cases()
    with pytest.raises(ac.InputError, match="27,000,000 combinations"):
        ac.Sweep(scenario(), {"path.rtt": "1ms..1s:9000", "duration": "1s..9s:3000"}).cases()
    with pytest.raises(ac.InputError, match="leaves none of 2"):
        ac.Sweep(scenario(), {"path.rtt": ["1ms", "2ms"]}, where="path.rtt > 1").cases()


def test_axes_that_get_in_each_others_way_are_refused():
    for axes, says in (
        ({"p": {"key": "path.link.faults.0.p", "values": [0.1]}}, "name of a column"),
        ({"path.rtt": ["1ms"], "again": {"key": "path.rtt", "values": ["2ms"]}}, "both set `path.rtt`"),
        ({("path.rtt", "duration"): [("1ms",)]}, "go together"),
    ):
        with pytest.raises(ac.InputError, match=says):
            ac.Sweep(scenario(), axes)
    with pytest.raises(
        ac.InputError, match=r"`path\.rtt` is set to `5ms` for all runs, and varied by the axis `trip`"
    ):
        ac.Sweep(scenario(), {"trip": {"key": "path.rtt", "values": ["1ms"]}}, fixed={"path.rtt": "5ms"})


def test_small_sweeps_share_their_threads_where_that_is_asked_for(monkeypatch):
    from ackclock.sweep import cluster

    started, ended = [], []
    local = cluster._local

    @contextmanager
    def counted(*arguments):
        started.append(arguments)
        with local(*arguments) as found:
            yield found
        ended.append(arguments)

    monkeypatch.setattr(cluster, "_local", counted)
    monkeypatch.setattr(runs, "ALONE", 0.0)
    wanted = [scenario(seed=s) for s in range(1, 5)]
    with cluster.held():
        first, second = (ac.sweep.run_all(wanted, workers=2) for _ in range(2))
        assert (started, ended) == ([(2, False)], [])
    assert len(ended) == 1
    assert [r.flows for r in first] == [r.flows for r in second]
    ac.sweep.run_all(wanted[:3], workers=8)
    assert started[1:] == ended[1:] == [(3, False)]


def test_a_little_work_is_done_without_dask(monkeypatch):
    monkeypatch.setattr(runs, "pool", None)
    assert len(ac.sweep.run_all([scenario(duration="100ms", seed=s) for s in (1, 2)])) == 2


# Batches


class Workers:
    """Fake workers that take tasks one after the other, on a virtual clock."""

    threads = False
    address = None

    def __init__(self, seconds, slots=2):
        self.client, self.seconds, self.count = self, seconds, slots
        self.loop = None

    def slots(self):
        return self.count

    def submit(self, function, sweep, jobs, budget, *rest, **options):
        return Task([work.Done(j.key, self.seconds[j.key], work.Failure("")) for j in jobs], budget)


class Task:
    status = "finished"
    awaited = 0

    def __init__(self, done, budget):
        spent, self.answer = 0.0, []
        for d in done:
            self.answer.append(d)
            spent += d.seconds
            if spent >= budget:
                break

    def result(self):
        return self.answer

    def cancel(self):
        raise AssertionError("nothing is left to be cancelled")


@pytest.fixture
def in_turn(monkeypatch):
    """Tasks are looked at in the order in which they were handed out."""

    class InTurn(list):
        def __init__(self, loop=None):
            super().__init__()

        def add(self, task):
            task.awaited += 1
            self.append(task)

        def __next__(self):
            return self.pop(0)

    monkeypatch.setattr("distributed.as_completed", InTurn)


@pytest.mark.parametrize("lost", ["lost", "pending"])
def test_a_result_that_dies_with_its_worker_is_waited_for_again(lost, in_turn, monkeypatch):
    # Each task's worker dies after it was done, the first time.
    monkeypatch.setattr(Task, "status", property(lambda task: lost if task.awaited == 1 else "finished"))
    seconds = {str(n): 0.1 for n in range(20)}
    schedule = Schedule(Workers(seconds), [work.Job(key, "") for key in seconds], engine="", encoded=False)
    done = []
    schedule.run(lambda d: done.append(d.key))
    assert sorted(done) == sorted(seconds)


@pytest.mark.parametrize("kind", ["short", "long", "mixed", "growing", "falling"])
def test_tasks_have_200_ms_of_work_and_everything_is_done_once(kind, in_turn):
    chance = random.Random(1)
    draw = {
        "short": lambda n: 0.001,
        "long": lambda n: 2.0,
        "mixed": lambda n: 10 ** chance.uniform(-3, 0),
        "growing": lambda n: 10 ** (n / 500 - 3),
        "falling": lambda n: 10 ** (-n / 500),
    }[kind]
    seconds = {str(n): draw(n) for n in range(1500)}

    schedule = Schedule(Workers(seconds), [work.Job(key, "") for key in seconds], engine="", encoded=False)
    done = []
    schedule.run(lambda d: done.append(d.key))
    assert sorted(done) == sorted(seconds)
    # The first ones are there to learn how long runs take, and the last ones are what is left.
    middle = schedule.tasks[4:-4]
    assert sum(spent < 0.2 for _, spent in middle) <= 0.02 * len(middle)
    longest = max(seconds.values())
    assert all(spent <= BUDGET + longest for _, spent in schedule.tasks)
