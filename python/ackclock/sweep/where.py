"""Filters of a sweep: an expression over the values of its axes, evaluated here and never run as a
program.
"""

from __future__ import annotations

import ast
import math
import operator
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from ackclock._core import InputError
from ackclock.sweep.axis import near, quantity

LONGEST = 1000
OPERATORS: dict[type, Callable[[Any, Any], Any]] = {
    ast.Add: operator.add,
    ast.Sub: operator.sub,
    ast.Mult: operator.mul,
    ast.Div: operator.truediv,
    ast.Mod: operator.mod,
    ast.Pow: operator.pow,
    ast.Eq: operator.eq,
    ast.NotEq: operator.ne,
    ast.Lt: operator.lt,
    ast.LtE: operator.le,
    ast.Gt: operator.gt,
    ast.GtE: operator.ge,
}
FUNCTIONS: dict[str, Callable[..., Any]] = {
    "abs": abs,
    "min": min,
    "max": max,
    "sqrt": math.sqrt,
    "log": math.log,
    "log10": math.log10,
}
WOULD_DO = "give a comparison of axes such as `round_trip * random_loss < 0.01 and mss in (536, 1460)`"


class Where:
    """A filter such as `delay * 2 < "100ms" and (loss > 0.001 or mss == 536)`.

    It takes the axes by name (a dotted key may stand as it is, where no part of it is a number), `seed`,
    numbers, quantities and words in quotes, + - * / % **, comparisons, `in`, `and`, `or`, `not`, and abs,
    min, max, sqrt, log, log10. Quantities are in the unit of the column: s, B, bit/s.
    """

    def __init__(self, text: str, names: Sequence[str]) -> None:
        self.text = text
        self._names = names
        try:
            if len(text) > LONGEST:
                raise InputError(f"`where` is {len(text)} characters long; at most {LONGEST} are read")
            self._root = ast.parse(text.strip(), mode="eval").body
            self._check(self._root)
        except (SyntaxError, ValueError, RecursionError, MemoryError):
            raise InputError(f"`where` is `{_cut(text)}`, which is not an expression; {WOULD_DO}") from None

    def __call__(self, values: Mapping[str, Any]) -> bool:
        """Whether a run with these values is wanted."""
        try:
            result = self._value(self._root, values)
        except (ArithmeticError, TypeError, ValueError) as e:
            shown = ", ".join(f"{k} = {v}" for k, v in values.items())
            raise InputError(
                f"`where` is `{_cut(self.text)}`, which has no value at {shown} ({e.args[-1]}); {WOULD_DO}"
            ) from None
        if not isinstance(result, bool):
            raise InputError(f"`where` is `{_cut(self.text)}`, which is neither true nor false; {WOULD_DO}")
        return result

    def _check(self, node: ast.expr) -> None:
        """Refuses what a filter may not contain, before anything is evaluated."""
        inner: list[ast.expr] = []
        match node:
            case ast.Constant(value=bool() | int() | float() | str()):
                pass
            case ast.Name() | ast.Attribute():
                name = _dotted(node)
                if name not in self._names:
                    raise InputError(
                        f"`where` is `{_cut(self.text)}`, where `{name or ast.unparse(node)}` is not "
                        f"an axis{near(name, self._names)}"
                    )
            case ast.BoolOp():
                inner = node.values
            case ast.UnaryOp(op=ast.Not() | ast.USub() | ast.UAdd()):
                inner = [node.operand]
            case ast.BinOp() if type(node.op) in OPERATORS:
                inner = [node.left, node.right]
            case ast.Compare() if all(
                type(o) in OPERATORS or isinstance(o, ast.In | ast.NotIn) for o in node.ops
            ):
                inner = [node.left, *node.comparators]
            case ast.Tuple() | ast.List():
                inner = node.elts
            case ast.Call(func=ast.Name(id=called)) if called in FUNCTIONS and not node.keywords:
                inner = node.args
            case _:
                raise InputError(
                    f"`where` is `{_cut(self.text)}`, where `{_cut(ast.unparse(node))}` is not allowed; "
                    f"{WOULD_DO}"
                )
        for part in inner:
            self._check(part)

    def _value(self, node: ast.expr, values: Mapping[str, Any]) -> Any:
        match node:
            case ast.Constant():
                # As real numbers they overflow; whole numbers could fill the memory.
                return (
                    float(node.value)
                    if isinstance(node.value, int) and not isinstance(node.value, bool)
                    else node.value
                )
            case ast.Name() | ast.Attribute():
                met = values[_dotted(node)]
                return float(met) if isinstance(met, int) and not isinstance(met, bool) else met
            case ast.BoolOp():
                # Words are not true or false: only comparisons are.
                results = (self._truth(v, values) for v in node.values)
                return all(results) if isinstance(node.op, ast.And) else any(results)
            case ast.UnaryOp(op=ast.Not()):
                return not self._truth(node.operand, values)
            case ast.UnaryOp():
                x = _number(self._value(node.operand, values))
                return -x if isinstance(node.op, ast.USub) else x
            case ast.BinOp():
                return OPERATORS[type(node.op)](
                    *(_number(self._value(n, values)) for n in (node.left, node.right))
                )
            case ast.Tuple() | ast.List():
                return tuple(self._value(n, values) for n in node.elts)
            case ast.Call():
                return FUNCTIONS[node.func.id](*(_number(self._value(n, values)) for n in node.args))  # type: ignore[attr-defined]
            case ast.Compare():
                sides = [self._value(n, values) for n in (node.left, *node.comparators)]
                return all(_compare(a, op, b) for a, op, b in zip(sides, node.ops, sides[1:], strict=False))
        raise TypeError("unknown expression")

    def _truth(self, node: ast.expr, values: Mapping[str, Any]) -> bool:
        result = self._value(node, values)
        if not isinstance(result, bool):
            raise TypeError(f"`{ast.unparse(node)}` is neither true nor false")
        return result


def _compare(a: Any, op: ast.cmpop, b: Any) -> bool:
    if isinstance(op, ast.In | ast.NotIn):
        if not isinstance(b, tuple):
            raise TypeError("`in` needs a list in brackets")
        return any(_compare(a, ast.Eq(), x) for x in b) == isinstance(op, ast.In)
    # A quantity in quotes is compared with numbers as the number that it is.
    if isinstance(a, float) and isinstance(b, str):
        b = _number(b)
    elif isinstance(b, float) and isinstance(a, str):
        a = _number(a)
    return bool(OPERATORS[type(op)](a, b))


def _number(value: Any) -> float:
    if isinstance(value, str):
        found = quantity(value)
        if found is None:
            raise TypeError(f"`{value}` is not a number")
        return found[0]
    if not isinstance(value, float):
        raise TypeError(f"`{value}` is not a number")
    return value


def _dotted(node: ast.expr) -> str:
    """`a.b.c` as a key; empty for what is none."""
    if isinstance(node, ast.Name):
        return node.id
    if isinstance(node, ast.Attribute):
        front = _dotted(node.value)
        return f"{front}.{node.attr}" if front else ""
    return ""


def _cut(text: str) -> str:
    return text if len(text) <= 120 else f"{text[:117]}..."
