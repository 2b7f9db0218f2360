from __future__ import annotations

import difflib
import importlib
import inspect
import itertools
import re
from collections.abc import Callable
from typing import Any

import click
import numpy as np

from ackclock import _core
from ackclock._core import InputError
from ackclock.cli.console import print_json, print_table
from ackclock.cli.quantities import number
from ackclock.models import FORMULAS, Formula, Input

MOST_ROWS = 100_000
UNITS = {"time": "s", "span": "s", "size": "B", "rate": "bit/s"}
ROW_MODELS = {"eifel": "E-A10: The row model of the Eifel paper, timers side by side."}


class Models(click.Group):
    """A command for each closed form, found by name or by register id, and for the row model."""

    def list_commands(self, ctx: click.Context) -> list[str]:
        """The row model, then the closed forms by register id."""
        return [*ROW_MODELS, *(f.name for f in sorted(FORMULAS.values(), key=lambda f: (f.paper, _natural(f.id))))]

    def get_command(self, ctx: click.Context, name: str) -> click.Command | None:
        """The command of that name."""
        if name in ROW_MODELS:
            return importlib.import_module(f"ackclock.cli.{name}").command
        found = next((f for f in FORMULAS.values() if name in (f.name, f.id)), None)
        return _command(found) if found else None

    def resolve_command(self, ctx: click.Context, args: list[str]) -> tuple[str | None, click.Command | None, list[str]]:
        """Names the nearest model when the one asked for is none."""
        names = [*ROW_MODELS] + [f.name for f in FORMULAS.values()] + [f.id for f in FORMULAS.values()]
        if args and args[0] not in names:
            near = difflib.get_close_matches(args[0], names, 1)
            hint = f"did you mean `{near[0]}`?" if near else f"known are {', '.join(self.list_commands(ctx))}"
            raise click.UsageError(f"`{args[0]}` is not a model; {hint}", ctx)
        return super().resolve_command(ctx, args)


@click.command("model", cls=Models)
def command() -> None:
    """Evaluate a closed form, or run the row model `eifel`.

    Values are numbers with their units; lists are written 1s,2s and 1s*100 repeats a value. For inputs that every flow has, a list is one value for
    each flow; for the others, a list or a range (0.01..0.5:10, or 0.01..0.5:10log) makes a table with a row for each combination.
    """


def _natural(id: str) -> tuple[int, str]:
    """By which ids sort: E-E9 before E-E10."""
    digits = "".join(c for c in id if c.isdigit())
    return int(digits or 0), id


def _command(f: Formula) -> click.Command:
    options: list[click.Parameter] = [_option(name, i) for name, i in f.inputs.items()]
    options.append(click.Option(["--json", "as_json"], is_flag=True, help="Print JSON."))
    text = inspect.cleandoc(f.function.__doc__ or "").replace("\n\n", "\n\n\b\n")
    return click.Command(f.name, params=options, callback=_callback(f), help=text, short_help=f"{f.id}: {f.about}")


def _option(name: str, i: Input) -> click.Option:
    each = ", for each flow" if i.per_flow else ""
    need = {"required": True} if i.default is None else {"default": f"{i.default:g}{UNITS.get(i.kind, '')}", "show_default": True}
    return click.Option(["--" + name.replace("_", "-"), name], metavar=i.kind.upper(), help=i.about + each, **need)


def _callback(f: Formula) -> Callable[..., None]:
    def evaluate(as_json: bool, **texts: str) -> None:
        values = {name: _values(name, i, texts[name]) for name, i in f.inputs.items()}
        rows = table(f, values)
        if as_json:
            print_json({"id": f.id, "name": f.name, "result": f.result, "unit": f.unit, "rows": rows})
        else:
            unit = f" ({f.unit})" if f.unit not in ("", "ratio") else ""
            columns = [(name, "right") for name in list(rows[0])[:-1]] + [(f.result + unit, "right")]
            print_table(columns, [[_cell(v) for v in row.values()] for row in rows])

    return evaluate


def table(f: Formula, values: dict[str, np.ndarray]) -> list[dict[str, Any]]:
    """A row for each combination of the inputs that flows share, and for each flow where the formula answers for each."""
    flows = {n: v for n, v in values.items() if f.inputs[n].per_flow}
    count = max((v.size for v in flows.values()), default=0)
    for name, v in flows.items():
        if v.size not in (1, count):
            raise InputError(f"`--{name}` has {v.size} values and another input {count}; give one value, or one for each flow")
        flows[name] = np.broadcast_to(v, (count,))
    shared = {n: v for n, v in values.items() if n not in flows}
    if np.prod([v.size for v in shared.values()], initial=1.0) * max(count, 1) > MOST_ROWS:
        raise InputError(f"that would make a table of more than {MOST_ROWS} rows; give fewer values")
    rows: list[dict[str, Any]] = []
    for point in itertools.product(*shared.values()):
        given = dict(zip(shared, map(float, point), strict=True))
        with np.errstate(all="ignore"):
            result = np.asarray(f(**flows, **given))
        if not np.isfinite(result).all():
            raise InputError(f"{f.id} has no finite value there; its inputs must be positive, and a loss ratio below 1")
        if flows and f.over_flows:
            rows.append({"flows": count, **given, f.result: float(result)})
        elif flows:
            each = np.broadcast_to(result, (count,))
            rows += [{"flow": i + 1, **{n: float(v[i]) for n, v in flows.items()}, **given, f.result: float(each[i])} for i in range(count)]
        else:
            rows.append({**given, f.result: float(result)})
    return rows


def _values(name: str, i: Input, text: str) -> np.ndarray:
    out: list[np.ndarray] = []
    for part in text.split(","):
        repeat = re.fullmatch(r"(.+)\*(\d{1,6})", part.strip())
        span = re.fullmatch(r"(.+)\.\.(.+):(\d{1,6})(log)?", part.strip())
        if repeat:
            out.append(np.full(int(repeat[2]), _one(name, i, repeat[1])))
        elif span:
            low, high = _one(name, i, span[1]), _one(name, i, span[2])
            if span[4] and min(low, high) <= 0:
                raise InputError(f"`--{name}` has the range `{part}`; a logarithmic one needs values above zero")
            out.append((np.geomspace if span[4] else np.linspace)(low, high, int(span[3])))
        else:
            out.append(np.array([_one(name, i, part)]))
    values = np.concatenate(out)
    if not values.size:
        raise InputError(f"`--{name}` has no values; give at least one")
    return values


def _one(name: str, i: Input, text: str) -> float:
    try:
        kind = "time" if i.kind == "span" else i.kind
        value = _core.quantity(kind, text) if kind in ("time", "ratio", "size", "rate") else float(text)
    except InputError as e:
        raise InputError(f"`--{name}`: {e}") from None
    except ValueError:
        raise InputError(f"`--{name}`: `{text}` is not a number") from None
    wanted = _wanted(i, value)
    if wanted:
        raise InputError(f"`--{name}` is `{text.strip()}`, which is not {wanted}")
    return value


def _wanted(i: Input, value: float) -> str | None:
    """What a value should have been; None when it will do."""
    if i.kind == "ratio" and not 0 <= value <= 1:
        return "between 0 and 1"
    if i.kind == "count" and not (value >= 1 and value == int(min(value, 2**53))):
        return "a whole number of at least 1"
    if i.kind in ("time", "size", "rate", "packets", "packets/s") and not 0 < value < float("inf"):
        return "above zero"
    return None if np.isfinite(value) else "a finite number"


def _cell(value: Any) -> str:
    return number(value) if isinstance(value, float) else str(value)
