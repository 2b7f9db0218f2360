"""Tables on terminals of any width."""

from __future__ import annotations

from ackclock.cli.console import narrowed, print_table

COLUMNS = [("no", "right"), ("client", "left"), ("server", "left"), ("packets", "right"), ("p", "right")]
ROWS = [["0", "2001:db8::1:40000", "192.0.2.1:443", "1,234", "0.50 %"], ["1", "a:1", "b:2", "5", "-"]]


def test_a_wide_terminal_shows_every_column():
    assert narrowed(COLUMNS, ROWS, 80, ("p",), ("client", "server")) == (COLUMNS, ROWS, [])


def test_a_narrow_one_does_without_what_may_be_spared_in_that_order():
    columns, rows, left_out = narrowed(COLUMNS, ROWS, 50, ("p", "packets"), ("client", "server"))
    assert [name for name, _ in columns] == ["no", "client", "server", "packets"]
    assert rows[0] == ["0", "2001:db8::1:40000", "192.0.2.1:443", "1,234"]
    assert left_out == ["p"]


def test_where_that_is_not_enough_columns_stand_below_each_other():
    columns, rows, left_out = narrowed(COLUMNS, ROWS, 30, ("p", "packets"), ("client", "server"))
    assert [name for name, _ in columns] == ["no", "client\nserver"]
    assert rows == [["0", "2001:db8::1:40000\n192.0.2.1:443"], ["1", "a:1\nb:2"]]
    assert left_out == ["p", "packets"]


def test_off_a_terminal_nothing_is_left_out(capsys):
    assert print_table(COLUMNS, ROWS, spare=("p",)) == []
    assert "0.50 %" in capsys.readouterr().out
