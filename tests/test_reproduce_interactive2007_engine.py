"""I-S2: the strategies above our engine, against a real kernel. The runs are those requested, and its checks
can fail.
"""

import json
import time
from dataclasses import replace

import numpy as np
import pytest

from ackclock.reproduce import real
from ackclock.reproduce.interactive2007 import over_engine, s2_strategies_for_real
from ackclock.reproduce.interactive2007.for_real import Found, Measured
from ackclock.reproduce.interactive2007.over_engine import BACKLOGGED, COPIED, PADDED, PLAIN, STRATEGIES, Load
from ackclock.reproduce.interactive2007.s1_padding_for_real import unfit
from ackclock.reproduce.item import ITEMS, Setting
from ackclock.reproduce.saved import save

LOAD = Load((0.1,), 15, 5)


def test_the_engines_flows_type_when_their_twins_do():
    found = real.between_kernels([over_engine.asked(LOAD, 0.1)])
    if isinstance(found, str):
        pytest.skip(found)
    run, flows = found[0], found[0]["flows"]
    if busy := unfit([run]):
        pytest.skip(busy)
    assert flows["wrong_byte"] == [None] * len(flows["group"])
    assert all(
        a <= d <= w
        for a, d, w in zip(*(flows[f"bytes_{key}"] for key in ("acked", "delivered", "written")), strict=True)
    )
    assert all(t >= over_engine.RTT for times in flows["response_times"] for t in times)
    compared = 0
    for name in (PLAIN, PADDED, COPIED):
        label = f"s{list(STRATEGIES).index(name)}"
        own = [n for n, group in enumerate(flows["group"]) if group == label]
        twin = LOAD.alone(0.1, name).but({"trace": ["packets"]}).simulate()
        segments, starts = twin.traces["segments"].to_pydict(), twin.flows.to_pydict()["start"]
        assert [flows["start"][n] for n in own] == pytest.approx(starts, abs=1e-9)
        rows = list(zip(*(segments[key] for key in ("connection", "sent", "len", "time")), strict=True))
        apart = []
        for i, n in enumerate(own):
            sent = np.array(
                [
                    at
                    for connection, out, size, at in rows
                    if connection == 2 * i and out and size == over_engine.PACKET
                ]
            )
            apart += [np.abs(sent - at).min() if sent.size else np.inf for at in flows["since"][n]]
        compared += len(apart)
        # What waits for the window is sent later than it is typed.
        assert np.median(apart) < 0.05, name
    assert compared > 20


def test_each_strategy_has_the_stack_of_its_name():
    text = LOAD.together(0.1).resolve()
    for part in (
        'kind = "diversity"',
        "copies = 2",
        'kind = "smart"',
        'kind = "rack"',
        'thin_min_rto = "500ms"',
        "early_retransmit",
        'kind = "backlogged"',
    ):
        assert part in text, part
    assert text.count('min_rto = "1s"') == len(STRATEGIES)
    # Alone, its flows and its stack are the same.
    for n, name in enumerate(STRATEGIES):
        alone = LOAD.alone(0.1, name).resolve()
        section = f"[stacks.s{n}]"
        assert (
            alone.split(section)[1].split("\n[")[0].strip() == text.split(section)[1].split("\n[")[0].strip()
        ), name


def test_without_the_right_it_is_skipped_and_neither_passed_nor_failed(monkeypatch, tmp_path):
    monkeypatch.setattr(over_engine, "side_by_side", lambda sets, **_: ["a right is missing"] * len(sets))
    item = ITEMS["I-S2"]
    outcome = item.function(Setting())
    assert (outcome.skipped, outcome.checks, outcome.figures) == ("a right is missing", [], {})
    kept = save(item, outcome, Setting(), time.monotonic(), tmp_path)
    assert kept["holds"] is None
    assert json.loads((tmp_path / "I-S2" / "summary.json").read_text())["skipped"] == "a right is missing"


MEANS = dict(zip(STRATEGIES, (0.22, 0.16, 0.15, 0.15, 0.11, 0.15, 0.3, 0.14), strict=True))


def child_results(**changes) -> dict:
    """The results of a child process for a run, as far as the item reads them."""
    way = {"served": 50, "dropped_wire": 5}
    path = {
        "delivered": 100,
        "undelivered": 0,
        "late": 0,
        "mean_lateness": 1e-5,
        "max_lateness": 1e-4,
        "forward": way,
        "backward": way,
    }
    counters = [{"name": "TCPDSACKOldSent", "client": None, "server": 9}]
    return {"p": 0.1, "flows": {"wrong_byte": [None, None]}, "path": path, "counters": counters, **changes}


def measured(name: str, scale: float = 1.0, world: str = "real packets") -> Measured:
    return Measured(
        world, "sack", name, 0.1, np.full(10, 100), np.full(10, 100 * scale * MEANS[name]), 5, 1100, 100
    )


def failing(changed: dict[str, float] | None = None, **changes) -> list[str]:
    ours = [measured(name, (changed or {}).get(name, 1.0)) for name in STRATEGIES]
    twins = [measured(name, world="simulator") for name in STRATEGIES]
    return [
        c.name
        for c in s2_strategies_for_real.checks(LOAD, Found(ours, [child_results(**changes)]), twins)
        if not c.holds
    ]


def test_its_checks_can_fail():
    assert failing() == []
    assert failing({PADDED: 1.5}) == [
        f"{PADDED}: mean response time, real packets over simulated",
        f"real packets: {PADDED} over {PLAIN}",
    ]
    assert failing({COPIED: 1.3, PADDED: 0.8}) == [f"real packets: {COPIED} over {PADDED}"]
    assert failing({BACKLOGGED: 0.7}) == [f"{BACKLOGGED}: mean response time, real packets over simulated"]
    assert failing(flows={"wrong_byte": [None, 17]}) == [
        "flows in which a byte was read that was not the one written there"
    ]


def test_the_order_is_that_of_losses_up_to_those_of_the_register():
    ours = [
        replace(measured(name, 2.0 if name == PADDED and p > 0.1 else 1.0), p=p)
        for name in STRATEGIES
        for p in (0.1, 0.2)
    ]
    twins = [replace(m, world="simulator") for m in ours]
    found = s2_strategies_for_real.checks(
        replace(LOAD, losses=(0.1, 0.2)), Found(ours, [child_results()]), twins
    )
    assert all(c.holds for c in found)


def test_the_sentence_on_a_run():
    ours, twins = (
        [measured(name) for name in STRATEGIES],
        [measured(name, world="simulator") for name in STRATEGIES],
    )
    found = Found(ours, [child_results()])
    assert "formula 225.0 ms" in s2_strategies_for_real.described(PLAIN, LOAD, found, twins)
    assert "formula" not in s2_strategies_for_real.described(BACKLOGGED, LOAD, found, twins)
    assert (
        "TCPDSACKOldSent 9, TCPDSACKOfoSent 0; all in all 45 packets for 45"
        in s2_strategies_for_real.counted(found)
    )
    assert "100 deliveries" in s2_strategies_for_real.punctuality(found.runs)
    assert "at 10 %" in s2_strategies_for_real.answer(LOAD, found, twins)
    figure = s2_strategies_for_real.figure(replace(LOAD, losses=(0.1, 0.1)), found, twins)
    assert [text.get_text() for text in figure.axes[0].get_yticklabels()] == list(STRATEGIES)
    assert figure.axes[0].get_xscale() == "linear"
    far = replace(found, measured=[replace(m, sums=m.sums * 10) for m in ours])
    assert s2_strategies_for_real.figure(LOAD, far, twins).axes[0].get_xscale() == "log"
