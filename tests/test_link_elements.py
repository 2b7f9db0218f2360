"""Elements of links in Python: what their constructors write, what they refuse, and runs with them."""

from __future__ import annotations

import pytest

import ackclock as ac


def run(link, back=None, seconds=8, sets=None):
    path = ac.Single(link, rtt="60ms", back=back)
    scenario = ac.Scenario.of(path, ac.Bulk(), {"tcp": "cubic"}, duration=f"{seconds}s", seed=1)
    return scenario.but(sets or {}).simulate()


def carried(found, name="link"):
    """Bytes put on a link."""
    rows = {row["name"]: row for row in found.links.to_pylist()}
    return rows[name]["bytes"]


def test_an_element_is_written_as_its_table():
    link = ac.Link(
        "1Gbit/s",
        mtu="1500B",
        policer=ac.Policer(rate="5Mbit/s", action="mark"),
        shaper=ac.Shaper(rate="5Mbit/s", burst="30kB"),
        schedule=ac.Schedule(points=[{"at": "1s", "delay": "30ms"}], repeat="2s"),
        jitter=ac.Jitter(mean="3ms"),
        half_duplex=True,
    )
    assert link.to_scenario() == {
        "rate": "1Gbit/s",
        "mtu": "1500B",
        "policer": {"rate": "5Mbit/s", "action": "mark"},
        "shaper": {"rate": "5Mbit/s", "burst": "30kB"},
        "schedule": {"repeat": "2s", "points": [{"at": "1s", "delay": "30ms"}]},
        "jitter": {"mean": "3ms"},
        "half_duplex": True,
    }
    assert ac.Link(mahimahi=ac.Mahimahi(file="lte.down")).to_scenario() == {"mahimahi": {"file": "lte.down"}}
    assert "a number of milliseconds on each line" in (ac.element.Mahimahi.__doc__ or "")


@pytest.mark.parametrize(
    ("make", "says"),
    [
        (lambda: ac.Shaper(rate="fast"), "`shaper`: `rate` is `fast`, which is not a rate"),
        (
            lambda: ac.Policer(rate="1Mbit/s", action="shape"),
            "`shape`, which is not one of drop, mark",
        ),
        (lambda: ac.Jitter(shape=1), "`shape` is `1`, which is not between 1.01 and 100"),
        (lambda: ac.Schedule(points="x.csv"), "`schedule`: `points` is `'x.csv'`, where a list belongs"),
        (lambda: ac.Mahimahi(file=[1, 2]), "`mahimahi`: `file` is `[1, 2]`, where text belongs"),
        (lambda: ac.Mahimahi(trace="x"), "`trace` is not a parameter of `mahimahi`"),
        (lambda: ac.Link("1Mbit/s", mtu=1500), "`mtu` is `1500`, which is not a size"),
        (
            lambda: ac.Link("1Mbit/s", shaper=ac.Policer(rate="1Mbit/s")),
            "the `shaper` of a link is `policer`, where `ac.Shaper(...)` belongs",
        ),
        (
            lambda: ac.Link("1Mbit/s", jitter="5ms"),
            "the `jitter` of a link is `'5ms'`",
        ),
    ],
)
def test_what_is_no_element_is_refused_at_once(make, says):
    with pytest.raises((ac.PolicyError, ac.ScenarioError)) as e:
        make()
    assert says in str(e.value)


def test_a_trace_delivers_no_more_than_its_opportunities():
    # Five packets in 10 ms are 6 Mbit/s.
    link = ac.Link(mahimahi=ac.Mahimahi(times=[1, 2, 3, 4, 10]), queue=ac.DropTail(limit="100packets"))
    found = run(link, back=ac.Link("10Mbit/s"))
    rate = carried(found) * 8 / 8e6
    assert 5.0 < rate <= 6.0


def test_a_schedule_and_a_half_duplex_link_run_from_python():
    half = ac.Schedule(points=[{"at": "0s", "rate": "8Mbit/s"}, {"at": "1s", "rate": "0bit/s"}], repeat="2s")
    assert 2.0 < carried(run(ac.Link("8Mbit/s", schedule=half))) * 8 / 8e6 <= 4.0
    shared = run(ac.Link("8Mbit/s", half_duplex=True))
    both = (carried(shared) + carried(shared, "link.back")) * 8 / 8e6
    assert 6.5 < both <= 8.0


def test_an_override_adds_the_fault_that_is_not_there():
    key = "path.link.faults.loss.p"
    link = ac.Link("8Mbit/s")
    clean, lossy = run(link), run(link, sets={key: 0.02})
    assert carried(lossy) < 0.8 * carried(clean)
    axis = {"random": {"key": key, "values": [0.001, 0.03]}}
    scenario = ac.Scenario.of(ac.Single(link, rtt="60ms"), ac.Bulk(), {"tcp": "cubic"}, duration="4s", seed=1)
    table = ac.Sweep(scenario, axis).run().table
    assert sorted(set(table["random"].to_pylist())) == [0.001, 0.03]
