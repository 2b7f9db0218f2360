"""The option `--beside`: a second formula, with its own inputs where they differ: `pftk(rto=2s,b=1)`."""

from __future__ import annotations

import difflib
import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from ackclock._core import InputError
from ackclock.cli.values import one
from ackclock.models import FORMULAS, Formula


@dataclass(frozen=True)
class Beside:
    """A second formula, and those of its inputs that it does not share with the first."""

    text: str
    formula: Formula
    own: dict[str, float]

    @classmethod
    def parse(cls, f: Formula, text: str) -> Beside:
        """Parses `text` as a formula to compare with `f`: of the same unit, with a value for every
        input.
        """
        found = re.fullmatch(r"\s*([\w-]+)\s*(?:\((.*)\))?\s*", text)
        other = next((o for o in FORMULAS.values() if found and found[1] in (o.name, o.id)), None)
        fitting = [o.name for o in FORMULAS.values() if o.unit == f.unit and not _per_flow(o)]
        if other is None or other.unit != f.unit or _per_flow(other) or _per_flow(f):
            if _per_flow(f):
                raise InputError(
                    f"`--beside {text}`: `{f.name}` takes values for each flow, which cannot be "
                    "compared with another formula"
                )
            near = difflib.get_close_matches(found[1] if found else text, fitting, 1)
            hint = f"did you mean `{near[0]}`?" if near else f"these do: {', '.join(fitting)}"
            raise InputError(
                f"`--beside {text}` names no formula that gives {f.unit or 'a plain number'} for "
                f"all flows; {hint}"
            )
        if text.strip() in (f.name, f.id):
            raise InputError(
                f"`--beside {text}` is the formula itself; give it other inputs, as in "
                f"{f.name}({next(iter(f.inputs))}=VALUE)"
            )
        own: dict[str, float] = {}
        for part in filter(str.strip, (found[2] or "").split(",") if found else []):
            name, _, value = (x.strip() for x in part.partition("="))
            name = name.replace("-", "_")
            if name not in other.inputs:
                raise InputError(
                    f"`--beside {text}`: `{other.name}` has no input `{name}`; it has "
                    f"{', '.join(other.inputs)}"
                )
            own[name] = one(f"{other.name}({name})", other.inputs[name], value)
        for name, i in other.inputs.items():
            if name not in own and name not in f.inputs:
                if i.default is None:
                    raise InputError(
                        f"`--beside {text}`: `{other.name}` needs `{name}`; write {other.name}({name}=VALUE)"
                    )
                own[name] = i.default
        return cls(text.strip(), other, own)

    def inputs(self, grid: Mapping[str, np.ndarray]) -> dict[str, Any]:
        """Its inputs where the other's are those of `grid`."""
        return {name: self.own[name] if name in self.own else grid[name] for name in self.formula.inputs}


def _per_flow(f: Formula) -> bool:
    return any(i.per_flow for i in f.inputs.values())
