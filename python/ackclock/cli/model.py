from __future__ import annotations

import difflib
import importlib
import inspect
import itertools
import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import click
import numpy as np

from ackclock._core import InputError
from ackclock.cli import completion
from ackclock.cli.beside import Beside
from ackclock.cli.values import Values, parse
from ackclock.console import note, print_json, print_table
from ackclock.models import FORMULAS, Formula, Input
from ackclock.plain import listed
from ackclock.quantities import number

MOST_ROWS = 100_000
MOST_LINES = 12
NEAR = 3
"""How many similar names an error for an unknown one has at most."""
UNITS = {"time": "s", "span": "s", "size": "B", "rate": "bit/s"}
ROW_MODELS = {"eifel": "The timers of the Eifel paper side by side, ack by ack."}
"""Step-by-step models, by name."""


class Models(click.Group):
    """A command for each formula, found by its name or by its id among the items of the papers, and for each
    step-by-step model.
    """

    def list_commands(self, ctx: click.Context) -> list[str]:
        """The step-by-step models, then the formulas, paper by paper in the order of their numbers."""
        return [*ROW_MODELS, *(f.name for f in _sorted())]

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """Lists them under the papers that they are from."""
        with formatter.section("Step-by-step models"):
            formatter.write_dl(list(ROW_MODELS.items()))
        for paper, formulas in itertools.groupby(_sorted(), key=lambda f: f.paper):
            with formatter.section(_title(paper)):
                formatter.write_dl([(f.name, f.about) for f in formulas])

    def get_command(self, ctx: click.Context, name: str) -> click.Command | None:
        """The command of that name."""
        if name in ROW_MODELS:
            return importlib.import_module(f"ackclock.cli.{name}").command
        found = next((f for f in FORMULAS.values() if name in (f.name, f.id)), None)
        return _command(found) if found else None

    def resolve_command(
        self, ctx: click.Context, args: list[str]
    ) -> tuple[str | None, click.Command | None, list[str]]:
        """Suggests the nearest models in the error for an unknown one."""
        if args and self.get_command(ctx, args[0]) is None:
            raise click.UsageError(
                f"`{args[0]}` is not a model; {_nearest(args[0])}`ackclock model --help` lists all", ctx
            )
        return super().resolve_command(ctx, args)


@click.command("model", cls=Models, subcommand_metavar="MODEL [--INPUT VALUE]...")
def command() -> None:
    """Evaluate a formula of a paper, or run its step-by-step model.

    \b
        ackclock model mathis --p 0.01 --rtt 100ms
        ackclock model mathis --p 0.001..0.1 --rtt 100ms --out curve
        ackclock model mathis --help

    Values are numbers with their units; lists are written 1s,2s and 1s*100 repeats a value. A range is
    0.001..0.1 (ten values a decade, or ten steps within one), 0.01..0.5:10 or 0.01..0.5:10log. For inputs
    that each flow has, a list gives one value for each flow; for the others, a list or a range makes a table
    with a row for each combination. --out draws the first range as a curve, and --beside adds other formulas
    for comparison.
    """


def _nearest(met: str) -> str:
    """The models whose names are like one that is not known, or have it as a part."""
    names = {name.casefold(): name for name in ROW_MODELS}
    names |= {word.casefold(): word for f in FORMULAS.values() for word in (f.name, f.id)}
    wanted = met.casefold()
    within = [name for name in names if len(wanted) > 2 and wanted in name]
    found = dict.fromkeys([*difflib.get_close_matches(wanted, names, NEAR), *within])
    near = [f"`{names[name]}`" for name in itertools.islice(found, NEAR)]
    return f"did you mean {listed(near, 'or')}? " if near else ""


def _sorted() -> list[Formula]:
    """The formulas, paper by paper."""
    return sorted(FORMULAS.values(), key=lambda f: (f.paper, _natural(f.id)))


def _title(paper: str) -> str:
    """Authors and year of a paper, from the first words of its folder: `Authors, "Title" (year)`."""
    words = importlib.import_module(f"ackclock.models.{paper}").__doc__ or paper
    authors, _, rest = words.partition(', "')
    year = re.search(r"\((\d{4})", rest)
    return f"{authors} ({year[1]})" if year else authors


def _natural(id: str) -> tuple[int, str]:
    """Sort key of ids: E-E9 before E-E10."""
    digits = "".join(c for c in id if c.isdigit())
    return int(digits or 0), id


def _command(f: Formula) -> click.Command:
    options: list[click.Parameter] = [_option(name, i) for name, i in f.inputs.items()]
    beside = "Another formula of the same unit; may be repeated. Inputs that this one has too are the same."
    options.append(
        click.Option(
            ["--beside"],
            multiple=True,
            metavar="NAME[(KEY=VALUE,...)]",
            help=beside,
            shell_complete=completion.formulas,
        )
    )
    options.append(
        click.Option(
            ["--out"],
            type=click.Path(path_type=Path),
            help="Folder for the rows, and a figure of the first range or list.",
        )
    )
    options.append(click.Option(["--json", "as_json"], is_flag=True, help="Print JSON."))
    text = _described(f)
    return click.Command(f.name, params=options, callback=_callback(f), help=text, short_help=f.about)


def _described(f: Formula) -> str:
    """What a formula is and where it is from, without what its docstring says of arrays."""
    parts = inspect.cleandoc(f.function.__doc__ or "").split("\n\n")
    *parts, last = parts
    source = re.search(r"Source: .*", last, re.DOTALL)
    unit = f" ({f.unit})" if f.unit else ""
    return "\n\n".join([*parts, f"Result: {f.result}{unit}.", *([source[0]] if source else [])])


def _option(name: str, i: Input) -> click.Option:
    each = ", for each flow" if i.per_flow else ""
    need = {"required": True} if i.default is None else {"default": _default(i), "show_default": True}
    return click.Option([_flag(name), name], metavar=i.kind.upper(), help=i.about + each, **need)


def _callback(f: Formula) -> Callable[..., None]:
    def evaluate(as_json: bool, beside: tuple[str, ...], out: Path | None, **texts: str) -> None:
        from ackclock.results import folder

        values = {name: _given(name, i, texts[name]) for name, i in f.inputs.items()}
        others = [Beside.parse(f, text) for text in dict.fromkeys(beside)]
        if out:
            folder.check_writable(out)
        rows = table(f, {name: v.array for name, v in values.items()}, others)
        result = {
            "id": f.id,
            "name": f.name,
            "result": f.result,
            "unit": f.unit,
            "beside": [{"name": o.text, "inputs": _finite(o.own)} for o in others],
            "rows": [_finite(r) for r in rows],
        }
        if out:
            result["folder"] = str(_write(out, f, values, others, rows, result))
        if as_json:
            print_json(result)
        else:
            _show(f, others, rows)
            for o in others:
                own = ", ".join(f"{n} = {quantity(o.formula, n, v)}" for n, v in o.own.items())
                if own:
                    note(f"{o.text}: {own}")
        if out:
            note(
                f"Rows and figure in {result['folder']}"
                if _curve(f, values)
                else f"Rows in {result['folder']}; a range gives a figure too"
            )

    return evaluate


def _given(name: str, i: Input, text: str) -> Values:
    """The value of an option. A default keeps all its digits; its text shows six."""
    return Values(np.array([i.default])) if text == _default(i) else parse(_flag(name), i, text)


def _default(i: Input) -> str | None:
    return None if i.default is None else f"{i.default:g}{UNITS.get(i.kind, '')}"


def _flag(name: str) -> str:
    return "--" + name.replace("_", "-")


def _show(f: Formula, others: list[Beside], rows: list[dict[str, Any]]) -> None:
    unit = f" ({f.unit})" if f.unit not in ("", "ratio") else ""
    inputs = list(rows[0])[: -1 - len(others)]
    columns = [*inputs, (f.name if others else f.result) + unit, *(o.text + unit for o in others)]
    lines = [[_cell(v) for v in row.values()] for row in rows]
    # An input that is the same in every row is not shown in each.
    same = [name for i, name in enumerate(inputs) if len({line[i] for line in lines}) == 1]
    names = [name for name in columns if name not in same]
    print_table(
        [(c, "right") for c in columns],
        lines,
        names=names,
        spare=same[::-1],
        elsewhere="it is the same in every row",
    )


def table(
    f: Formula, values: dict[str, np.ndarray], others: list[Beside] | None = None
) -> list[dict[str, Any]]:
    """A row for each combination of the inputs that flows share, and for each flow where the formula returns
    a value for each flow.
    """
    flows = {n: v for n, v in values.items() if f.inputs[n].per_flow}
    count = max((v.size for v in flows.values()), default=0)
    for name, v in flows.items():
        if v.size not in (1, count):
            raise InputError(
                f"`{_flag(name)}` has {v.size} values and another input {count}; give one value, or "
                "one for each flow"
            )
        flows[name] = np.broadcast_to(v, (count,))
    shared = {n: v for n, v in values.items() if n not in flows}
    if np.prod([v.size for v in shared.values()], initial=1.0) * max(count, 1) > MOST_ROWS:
        raise InputError(f"that would make a table of more than {MOST_ROWS} rows; give fewer values")
    if not flows:
        return _shared_rows(f, shared, others or [])
    rows: list[dict[str, Any]] = []
    for point in itertools.product(*shared.values()):
        given = dict(zip(shared, map(float, point), strict=True))
        result = _evaluate(f, {**flows, **given})
        if f.over_flows:
            rows.append({"flows": count, **given, f.result: float(result)})
        else:
            each = np.broadcast_to(result, (count,))
            rows += [
                {
                    "flow": i + 1,
                    **{n: float(v[i]) for n, v in flows.items()},
                    **given,
                    f.result: float(each[i]),
                }
                for i in range(count)
            ]
    return rows


def _shared_rows(f: Formula, values: dict[str, np.ndarray], others: list[Beside]) -> list[dict[str, Any]]:
    grid = dict(zip(values, (g.ravel() for g in np.meshgrid(*values.values(), indexing="ij")), strict=True))
    columns = {
        **grid,
        f.result: _evaluate(f, grid),
        **{o.text: _evaluate(o.formula, o.inputs(grid)) for o in others},
    }
    size = next(iter(grid.values())).size
    lists = [np.broadcast_to(c, (size,)).tolist() for c in columns.values()]
    return [dict(zip(columns, row, strict=True)) for row in zip(*lists, strict=True)]


def _evaluate(f: Formula, given: dict[str, Any]) -> np.ndarray:
    with np.errstate(all="ignore"):
        result = np.asarray(f(**given), dtype=float)
    if not np.isfinite(result).all():
        raise InputError(f"`{f.name}` has no finite value there; {f.domain}")
    return result


def _curve(f: Formula, values: dict[str, Values]) -> str | None:
    """The input on the x axis of the figure: the first range, or else the longest list."""
    shared = {n: v for n, v in values.items() if not f.inputs[n].per_flow and np.unique(v.array).size > 1}
    ranges = [n for n, v in shared.items() if v.ends]
    return ranges[0] if ranges else max(shared, key=lambda n: shared[n].array.size, default=None)


def _write(
    out: Path,
    f: Formula,
    values: dict[str, Values],
    others: list[Beside],
    rows: list[dict[str, Any]],
    result: dict[str, Any],
) -> Path:
    import pyarrow as pa

    from ackclock.results import folder

    over = _curve(f, values)
    draw = _figure(f, values, others, over) if over else None

    def fill(directory: Path) -> None:
        folder.write_table(
            pa.table({name: [row[name] for row in rows] for name in rows[0]}), directory / "rows.parquet"
        )
        folder.write_json({**result, "folder": str(out.absolute())}, directory / folder.SUMMARY)

    return folder.write(out, fill, {"curve": draw} if draw else {})


def _figure(f: Formula, values: dict[str, Values], others: list[Beside], over: str) -> Callable[[], Any]:
    """Returns the function that draws the curves. Too few values or too many curves are refused here, before
    anything is written.
    """
    kind = f.inputs[over].kind
    x = values[over].fine(kind)
    arrays = {
        name: x if name == over else np.unique(v.array) if not f.inputs[name].per_flow else v.array
        for name, v in values.items()
    }
    rows = table(f, arrays, others)
    fixed = {
        n: v.array[0] for n, v in values.items() if n != over and v.array.size == 1 and v.array[0] != np.inf
    }
    varied = ["flow"] * ("flow" in rows[0]) + [
        n for n, v in values.items() if n != over and v.array.size > 1 and n in rows[0]
    ]
    lines: dict[Any, tuple[str, list[float]]] = {}
    for row in rows:
        # Which line a value belongs to: what varies besides the x axis, and the formula where there are
        # several.
        names = [f"{n} = {quantity(f, n, row[n])}" for n in varied]
        for column, name in [(f.result, f.name), *((o.text, o.text) for o in others)]:
            label = ", ".join([name] * (bool(others) or not names) + names)
            lines.setdefault((column, *(row[n] for n in varied)), (label, []))[1].append(row[column])
    if len(lines) > MOST_LINES:
        raise InputError(
            f"that would draw {len(lines)} curves; give at most {MOST_LINES}, or leave `--out` out"
        )
    unit = f" ({f.unit})" if f.unit not in ("", "ratio") else ""
    x_unit = f" ({UNITS[kind]})" if kind in UNITS else ""

    def draw() -> Any:
        from ackclock.plot import curves

        return curves(
            x,
            [(label, np.array(v)) for label, v in lines.values()],
            title=f.name + (" and others" if others else ""),
            subtitle=f.about,
            xlabel=f"{over}: {f.inputs[over].about}{x_unit}",
            ylabel=f"{f.result}{unit}",
            log=values[over].log,
            legend=", ".join(f"{n} = {quantity(f, n, v)}" for n, v in fixed.items()),
        )

    return draw


def quantity(f: Formula, name: str, value: float) -> str:
    """An input's value with its unit."""
    unit = UNITS.get(f.inputs[name].kind) if name in f.inputs else None
    return f"{value:.6g} {unit}" if unit else f"{value:.6g}"


def _finite(row: dict[str, Any]) -> dict[str, Any]:
    """Values for JSON: infinity becomes null."""
    return {name: None if v == np.inf else v for name, v in row.items()}


def _cell(value: Any) -> str:
    return number(value) if isinstance(value, float) else str(value)
