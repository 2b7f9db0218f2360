"""Writes expressions.tsv: expressions of code blocks and what CPython says of each.

A line is an expression, a tab, and its `repr`; or `!` and the name of the exception. They are those of
expressions.txt, then ones of random shape. Numbers of more than 128 bits are left out: blocks refuse them.

    python3 expressions.py > expressions.tsv
"""

import ast
import random
import warnings
from pathlib import Path

NAMES = {"tcpi_snd_cwnd": 10, "tcpi_rtt": 14_000, "zero": 0, "half": 0.5, "word": "cwnd", "flag": True}


def evaluate(source):
    """What the table says of an expression."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            return repr(eval(source, {}, dict(NAMES)))
        except Exception as error:
            return f"!{type(error).__name__}"


LEAVES = [
    *["0", "1", "2", "3", "7", "10", "0xff", "1000", "2147483647", "4294967296", "0.5", "2.5", "1e3", "0.1"],
    "True",
    *NAMES,
    *[
        "'a'",
        "'b%d'",
        "None",
        "[1, 2]",
        "(1, 'x')",
        "''",
        "9223372036854775807",
        "1e-9",
        "False",
        "-1",
        "-2.5",
    ],
]
BINARY = ["+", "-", "*", "/", "//", "%", "&", "|", "^", "<<", ">>", "**"]
OTHER = ["==", "!=", "<", "<=", ">", ">=", "in", "not in", "and", "or"]


def random_expression(rng, depth):
    """An expression without parentheses where chance has it so: precedence decides."""
    if depth == 0:
        return rng.choice(LEAVES)
    a, b, c = (random_expression(rng, depth - 1 - rng.randrange(depth)) for _ in range(3))
    operator = rng.choice(BINARY + OTHER)
    shape = rng.randrange(12)
    if shape < 5:
        return f"{a} {operator} {b}"
    if shape < 7:
        return f"({a} {operator} {b})"
    if shape == 7:
        return f"{rng.choice(['-', '~', 'not ', '+'])}{a}"
    if shape == 8:
        return f"{a} if {b} else {c}"
    if shape == 9:
        return f"{rng.choice(['abs', 'len', 'int', 'float', 'str', 'bool', 'round', 'hex'])}({a})"
    if shape == 10:
        return f"{rng.choice(['min', 'max'])}({a}, {b}, {c})"
    return f"{a} {rng.choice(OTHER[:6])} {b} {rng.choice(OTHER[:6])} {c}"


def number(rng):
    """A number, written out or by name."""
    return rng.choice(
        [str(rng.randrange(-20, 20)), repr(round(rng.uniform(-50, 50), rng.randrange(4))), "zero", "half"]
    )


def numeric(rng, depth):
    """The same of numbers alone, which rarely fails."""
    if depth == 0:
        return number(rng)
    a, b = numeric(rng, depth - 1), numeric(rng, rng.randrange(depth))
    return f"({a} {rng.choice(['+', '-', '*', '/', '//', '%', '<', '=='])} {b})"


def formats(rng):
    """A `%` format and an f-string."""
    flags = "".join(rng.sample(["-", "0", "+", " ", "#"], rng.randrange(3)))
    width = rng.choice(["", "3", "8", "12"])
    precision = rng.choice(["", ".0", ".1", ".3", ".10"])
    kind = rng.choice("dxXofFeEgGsr")
    value = rng.choice(
        [number(rng), repr(rng.uniform(-1e6, 1e6)), repr(rng.uniform(0, 1e-6)), "word", "1e21", "-255"]
    )
    yield f"'%{flags}{width}{precision}{kind}|' % ({value},)"
    align = rng.choice(["", "<", ">", "^", "=", "*<", "0>", "x^", "_="])
    flag = rng.choice(["", "+", " ", "#", "0"])
    kind = rng.choice(["", "d", "x", "b", "o", "f", "e", "g", "G", "s", "%"])
    grouping = rng.choice(["", "", "", ",", "_"])
    if grouping and ("=" in align or flag == "0"):
        grouping = ""
    yield f"f'{{{value}:{align}{flag}{width}{grouping}{precision}{kind}}}|'"


def suits(node):
    """Whether every part stays small, inner ones first, so that no large number is ever made."""
    if not all(suits(child) for child in ast.iter_child_nodes(node)):
        return False
    if isinstance(node, ast.BinOp):
        left, right = value_of(node.left), value_of(node.right)
        if (
            isinstance(node.op, (ast.Pow, ast.LShift))
            and isinstance(right, (int, float))
            and abs(right) > 200
        ):
            return False
        texts = [side for side in (left, right) if isinstance(side, (str, list, tuple))]
        numbers = [side for side in (left, right) if isinstance(side, int) and abs(side) > 100]
        if isinstance(node.op, ast.Mult) and texts and numbers:
            return False
    if not isinstance(node, ast.expr):
        return True
    value = value_of(node)
    return not isinstance(value, complex) and not (isinstance(value, int) and not -(2**127) <= value < 2**127)


def is_small(source):
    """Whether the expression may be evaluated."""
    try:
        return suits(ast.parse(source, mode="eval").body)
    except SyntaxError:
        return True


def value_of(node):
    """The value, or None if there is none."""
    try:
        return eval(ast.unparse(node), {}, dict(NAMES))
    except Exception:
        return None


def main():
    """Prints the table."""
    rng = random.Random(2018)
    sources = Path(__file__).with_suffix(".txt").read_text(encoding="utf-8").splitlines()
    warnings.simplefilter("ignore")
    fuzzy = []
    for _ in range(700):
        fuzzy.append(random_expression(rng, rng.randrange(1, 4)))
        fuzzy.append(numeric(rng, rng.randrange(1, 4)))
    failures = 0
    for source in fuzzy:
        if not is_small(source):
            continue
        failed = evaluate(source).startswith("!")
        failures += failed
        if not failed or failures % 4 == 0:
            sources.append(source)
    for _ in range(300):
        sources.extend(formats(rng))
    for source in dict.fromkeys(sources):
        print(f"{source}\t{evaluate(source)}")


main()
