"""What a sweep varies, and its filters."""

from __future__ import annotations

import pytest

import ackclock as ac
from ackclock.sweep.axis import Axis
from ackclock.sweep.where import Where


@pytest.mark.parametrize(
    ("given", "texts", "shown", "unit"),
    [
        (["10ms", "1s"], ["10ms", "1s"], [0.01, 1.0], "s"),
        (["reno", "sack"], ["reno", "sack"], ["reno", "sack"], ""),
        ([1, 2], ["1", "2"], [1, 2], ""),
        ([0.1, "1%"], ["0.1", "1%"], [0.1, 0.01], ""),
        ([True, False], ["true", "false"], [True, False], ""),
        (["2bdp", "0.5bdp"], ["2bdp", "0.5bdp"], [2.0, 0.5], "bdp"),
        (["10ms", "1Mbit/s"], ["10ms", "1Mbit/s"], ["10ms", "1Mbit/s"], ""),
        ("10ms..30ms:3", ["10000000ns", "20000000ns", "30000000ns"], [0.01, 0.02, 0.03], "s"),
        ("0.001..0.1:3log", ["0.001", "0.01", "0.1"], [0.001, 0.01, 0.1], ""),
        ("1..4", ["1", "2", "3", "4"], [1, 2, 3, 4], ""),
        ("0..1:3", ["0.0", "0.5", "1.0"], [0.0, 0.5, 1.0], ""),
        ("1..100:3log", ["1", "10", "100"], [1, 10, 100], ""),
        ("1KiB..4KiB:2", ["1024B", "4096B"], [1024, 4096], "B"),
        ("30ms..10ms:2", ["30000000ns", "10000000ns"], [0.03, 0.01], "s"),
        (
            {"range": ["1Mbit/s", "100Mbit/s"], "points": 3, "spacing": "log"},
            ["1000000bit/s", "10000000bit/s", "100000000bit/s"],
            [1e6, 1e7, 1e8],
            "bit/s",
        ),
        (
            {"values": {"a": "red", "b": {"kind": "red", "min_th": "3packets"}}},
            ["red", '{ "kind" = "red", "min_th" = "3packets" }'],
            ["a", "b"],
            "",
        ),
    ],
)
def test_an_axis_takes_lists_and_ranges_with_units(given, texts, shown, unit):
    axis = Axis.of("x", given)
    assert [v.text for v in axis.values] == texts
    assert [v.shown for v in axis.values] == shown
    assert [type(v.shown) for v in axis.values] == [type(v) for v in shown]
    assert axis.unit == unit


@pytest.mark.parametrize(
    ("given", "says"),
    [
        ("10ms", "give a list of values, or a range such as `10ms..300ms:7log`"),
        ("10ms..3", "different units (s and none)"),
        ("a..b", "`a` is not a number"),
        ("0s..1s:4log", "above zero"),
        ("1..2:200000", "200000 values; expected 1 to 100000"),
        ([], "0 values"),
        (["1s", "1s"], "`1s` twice"),
        (["1s", "1000ms"], "`1000ms` twice"),
        ({"values": [1], "range": "1..2"}, "either `values`"),
        ({"key": "a", "keys": ["b"], "values": [1]}, "both `key` and `keys`"),
        ({"kez": "a", "values": [1]}, "did you mean `key`?"),
        ({"range": ["1s", "2s"], "points": 2, "spacing": "lin"}, "`lin`; expected linear or log"),
        ({"range": ["1s", "2s", "3s"]}, "range of 3 values"),
        (5, "give a list of values"),
    ],
)
def test_an_invalid_axis_is_one_sentence(given, says):
    with pytest.raises(ac.InputError) as e:
        Axis.of("x", given)
    assert says in str(e.value)
    assert "`x`" in str(e.value)


@pytest.mark.parametrize(
    ("text", "wanted"),
    [
        ("rtt < 0.1", True),
        ('rtt < "50ms"', False),
        ('"10ms" < rtt <= "60ms" and not stack == "reno"', True),
        ("rtt * 2 ** 3 - 1 / 4 > 0.2 or seed % 2 == 0", True),
        ("mss in (536, 1460) and stack not in ('reno', 'tahoe')", True),
        ('mss in ["536B"]', False),
        ("log10(mss) > 3 and min(mss, 10) == 10 and path.rtt == rtt", True),
    ],
)
def test_a_filter_compares_axes(text, wanted):
    values = {"rtt": 0.06, "mss": 1460, "stack": "sack", "seed": 3, "path.rtt": 0.06}
    assert Where(text, list(values))(values) is wanted


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ("rt < 1", "did you mean `rtt`?"),
        ("__import__('os').system('true') == 0", "is not allowed"),
        ("rtt.__class__ == 1", "`rtt.__class__` is not an axis"),
        ("(lambda: 1)() == 1", "is not allowed"),
        ("[x for x in (1, 2)] == 1", "is not allowed"),
        ("open('x') == 1", "is not allowed"),
        ("rtt <", "is not an expression"),
        ("rtt", "neither true nor false"),
        ("9 ** 9 ** 9 ** 9 > rtt", "has no value"),
        ("1 / (rtt - rtt) > 1", "has no value"),
        ("rtt < 'x'", "`x` is not a number"),
        ("stack + 1 > 2", "`sack` is not a number"),
        ("(" * 300 + "1" + ")" * 300 + " == 1", "is not an expression"),
        ("not " * 240 + "rtt == 1", None),
        ("rtt == 1 or " * 200 + "rtt == 1", "characters long"),
    ],
)
def test_an_invalid_filter_is_one_sentence_and_runs_nothing(text, says):
    values = {"rtt": 0.06, "stack": "sack"}
    if says is None:
        assert Where(text, list(values))(values) is False
        return
    with pytest.raises(ac.InputError) as e:
        Where(text, list(values))(values)
    assert says in str(e.value)
    assert "\n" not in str(e.value)
