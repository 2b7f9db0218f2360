"""References from items of the register to what implements them: policies, options, stacks, commands, closed
forms; and to their tests.

A reference is text: `estimator jacobson88-ticks(form=final)`, `window reno(decrease, increase_segs)`,
`option karn_backoff`, `stack rfc793+lite(500ms)`, `command timers`, `formula eifel-rto`, `item E-F2`. Words
in brackets are parameters that the register's item needs, with the values that make it up. A test is the path
of its file and its name: `crates/ackclock-policy/src/backoff/tests.rs::multipliers_of_tcp_star`,
`tests/test_timers.py::test_x`.
"""

from __future__ import annotations

import re
from collections.abc import Container
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from ackclock._core import InputError
from ackclock.policy import Declaration, Param, declarations, modifiers, options, presets
from ackclock.policy.declared import bounds

ROOT = Path(__file__).parents[3]
"""The checkout, where this is one."""


@dataclass(frozen=True)
class Reference:
    """Something of this project by kind and name."""

    text: str
    kind: str
    name: str
    settings: tuple[tuple[str, str | None], ...]

    @classmethod
    def parse(cls, text: str) -> Reference:
        """Reads a reference. Raises ValueError for what is none."""
        kind, _, name = text.partition(" ")
        if kind in ("stack", "command"):
            return cls(text, kind, name, ())
        found = re.fullmatch(r"([\w-]+)\s*(?:\((.*)\))?", name)
        if not found:
            raise ValueError(f"`{text}` is not a reference such as `backoff exponential(max_timeout=240s)`")
        parts = [part.partition("=") for part in (found[2] or "").split(",") if part.strip()]
        return cls(
            text,
            kind,
            found[1],
            tuple((key.strip(), value.strip() if equals else None) for key, equals, value in parts),
        )

    def problem(self, items: Container[str]) -> str | None:
        """Why it does not exist; None if it does. items: the known ids."""
        try:
            if self.kind == "command":
                return _unknown_command(self.name)
            if self.kind == "formula":
                from ackclock.models import FORMULAS

                return None if self.name in FORMULAS else f"no formula is called {self.name}"
            if self.kind == "item":
                return None if self.name in items else f"there is no item {self.name}"
            if self.kind in ("stack", "option"):
                return self._unresolved()
            return self._undeclared() or self._unresolved()
        except InputError as e:
            return str(e)

    @property
    def declaration(self) -> Declaration | None:
        """The policy's declaration; None where it is no policy."""
        return next((d for d in declarations() if (d.kind, d.name) == (self.kind, self.name)), None)

    @property
    def option(self) -> Param | None:
        """The option's declaration; None where it is no option."""
        return next((o for o in options() if self.kind == "option" and o.name == self.name), None)

    def _undeclared(self) -> str | None:
        if self.declaration is None:
            return f"no {self.kind} is called {self.name}"
        known = {p.name for p in self.declaration.params}
        missing = [key for key, _ in self.settings if key not in known]
        return f"`{self.name}` has no parameter {missing[0]}" if missing else None

    def _unresolved(self) -> str | None:
        """Puts it into a scenario, which refuses invalid values."""
        from ackclock.scenario import Scenario

        given = {key: value for key, value in self.settings if value is not None}
        stack: Any = "sack"
        link: dict[str, Any] = {"rate": "1Mbit/s"}
        workload: dict[str, Any] = {"kind": "bulk"}
        if self.kind == "stack":
            stack = self.name
        elif self.kind == "option":
            if self.option is None:
                return f"no option is called {self.name}"
            values = [key for key, _ in self.settings]
            stack = {self.name: _value(self.option, values[0])} if values else stack
        else:
            d = self.declaration
            assert d is not None, "looked at before"
            declared = {p.name: p for p in d.params}
            table = {"kind": self.name, **{key: _value(declared[key], value) for key, value in given.items()}}
            if self.kind == "queue":
                link["queue"] = table
            elif self.kind == "fault":
                link["faults"] = [table]
            elif self.kind == "rate":
                workload = {"kind": "udp-rate", "control": table}
            elif self.kind in ("workload", "application"):
                workload = table
            elif self.kind in ("sizes", "arrivals"):
                return None
            else:
                stack = {self.kind: table}
        Scenario.of({"kind": "single", "link": link, "rtt": "10ms"}, workload, {"x": stack}).resolve()
        return None

    def about(self) -> dict[str, Any]:
        """Its description: `reference`, `about`, `source`, `params` (name, value here, default, values,
        meaning).
        """
        given = dict(self.settings)
        d, o = self.declaration, self.option
        found: dict[str, Any] = {"reference": self.text, "about": "", "source": "", "params": []}
        if d is not None:
            found |= {"about": d.about, "source": d.source}
            found["params"] = [
                {
                    "name": p.name,
                    "here": given.get(p.name) or p.default,
                    "default": p.default,
                    "values": bounds(p),
                    "about": p.about,
                }
                for p in d.params
            ]
        elif o is not None:
            found["about"] = f"{o.about} ({bounds(o)}; default {o.default})"
        elif self.kind == "stack":
            base, *changes = self.name.split("+")
            known = {p.name: p.about for p in presets()}
            known |= {m.name: m.about for m in modifiers()}
            found["about"] = "; ".join(
                filter(
                    None,
                    [known.get(base, "").rstrip("."), *(known.get(c.partition("(")[0]) for c in changes)],
                )
            )
        elif self.kind == "formula":
            from ackclock.models import FORMULAS

            found["about"] = FORMULAS[self.name].about if self.name in FORMULAS else ""
        elif self.kind == "command":
            from ackclock.cli import COMMANDS

            found["about"] = COMMANDS.get(self.name.split()[0], "")
        return found


def _value(p: Param, text: str) -> Any:
    """A parameter's value as a scenario file holds it."""
    if p.kind == "flag":
        return text == "true" if text in ("true", "false") else text
    if p.kind == "count" and text.isdigit():
        return int(text)
    if p.kind == "ratio":
        return float(text)
    return text


def _unknown_command(name: str) -> str | None:
    from ackclock.cli import COMMANDS, command

    first, *rest = name.split()
    if first not in COMMANDS:
        return f"there is no command {first}"
    if not rest:
        return None
    found = command.get_command(None, first)  # type: ignore[arg-type]
    known = getattr(found, "list_commands", lambda _: [])(None)
    return None if rest[0] in known else f"`{first}` has no command {rest[0]}"


def missing_test(test: str) -> str | None:
    """Why the test does not exist; None if it does. Call only in a checkout."""
    path, _, name = test.partition("::")
    file = ROOT / path
    if not file.is_file():
        return f"{path} does not exist"
    source = file.read_text(encoding="utf-8")
    attribute = r"\s*#\[[^\n]*\]\s*\n"
    mark = (
        rf"^\s*#\[(?:\w+::)?test(?:_\w+)?\b[^\n]*\]\s*\n(?:{attribute})*\s*(?:async )?fn {re.escape(name)}\b"
    )
    if path.endswith(".rs") and (re.search(mark, source, re.MULTILINE) or _is_law(file, source, name)):
        return None
    if (
        path.endswith(".py")
        and re.search(rf"^def {re.escape(name)}\(", source, re.MULTILINE)
        and name.startswith("test_")
    ):
        return None
    return f"{path} has no test {name}"


def _is_law(file: Path, source: str, name: str) -> bool:
    """Whether it is a law of policies, which the list beside it runs as a test."""
    list_of_laws = file.parent / "mod.rs"
    return (
        file.parent.name == "laws"
        and f"pub fn {name}(registry: &Registry)" in source
        and re.search(rf"^\s+.*\b{re.escape(name)}\b", list_of_laws.read_text(encoding="utf-8"), re.M)
        is not None
    )


def in_checkout() -> bool:
    """Whether the sources of the tests lie here: an installed package does not have them."""
    return (ROOT / "Cargo.toml").is_file() and (ROOT / "tests").is_dir()
