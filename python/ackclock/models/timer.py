"""Retransmission timers driven over series of round-trip times. The rules are the engine's own."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np
import pyarrow as pa

from ackclock import _core
from ackclock._core import InputError
from ackclock.policy import declarations

Array = np.ndarray
WHOLE = ("time", "rtt", "srtt", "rttvar", "flight_size", "cwnd", "ssthresh")
NS = 1e9
LONGEST = 1e9
"""Longest time (s) that a timer accepts."""


def names() -> list[str]:
    """The estimators that there are."""
    return [d.name for d in declarations() if d.kind == "estimator"]


@dataclass(frozen=True)
class Timer:
    """An estimator by its name, with those of its parameters that are set, as text (`{"tick": "10ms"}`)."""

    name: str
    params: tuple[tuple[str, str], ...] = ()

    @classmethod
    def parse(cls, text: str) -> Timer:
        """Reads `eifel` or `eifel(tick=10ms, weight=2)`. Raises `InputError` for what is no timer."""
        found = re.fullmatch(r"\s*([\w-]+)\s*(?:\((.*)\))?\s*", text)
        if not found:
            raise InputError(f"`{text}` is not a timer such as `eifel` or `lite(tick=10ms)`")
        params = []
        for part in filter(None, (p.strip() for p in (found[2] or "").split(","))):
            key, equals, value = (p.strip() for p in part.partition("="))
            if not equals or not key or not value:
                raise InputError(f"`{part}` in `{text}` is not a parameter and its value such as `tick=10ms`")
            params.append((key, value))
        timer = cls(found[1], tuple(params))
        timer.replay()
        return timer

    def __str__(self) -> str:
        return self.name + (f"({', '.join(f'{k}={v}' for k, v in self.params)})" if self.params else "")

    def but(self, **params: str) -> Timer:
        """The same timer with these parameters set, except those that it does not have or that are set
        already.
        """
        known = {
            p.name for d in declarations() if d.kind == "estimator" and d.name == self.name for p in d.params
        }
        given = dict(self.params)
        return Timer(
            self.name, (*self.params, *((k, v) for k, v in params.items() if k in known and k not in given))
        )

    def rows(
        self, columns: Mapping[str, Array], smss: int = 1, start: tuple[float, float] | None = None
    ) -> dict[str, Array]:
        """Replays the timer over a series that fits in memory.

        columns: `time`, `rtt` (s; 0 where a row brings no valid sample) and, where known, `flight_size`,
        `cwnd`, `ssthresh` (bytes; `smss` 1 makes them segments), `sampling_rate`, `lost`, all of shape
        (rows,). start: SRTT and RTTVAR before the first row (s). Returns `srtt`, `rttvar`, `rto` (s, NaN
        before one came), `spurious`, and the timer's private numbers, of the same shape.
        """
        table = pa.table(
            _core.timer_rows(
                self.name,
                list(self.params),
                smss,
                raw(columns),
                start and (round(start[0] * NS), round(start[1] * NS)),
            )
        )
        return {name: table[name].to_numpy() for name in table.column_names}

    def step(
        self, srtt: Array, rttvar: Array, sample: Array, smss: int = 1, **columns: Array
    ) -> dict[str, Array]:
        """The estimates of the timer after one sample, from given estimates, to the nanosecond.

        srtt, rttvar, sample: seconds (a sample of 0 is none); columns: as in `rows`. Shapes that broadcast.
        Returns `srtt`, `rttvar`, `rto` (s). For a timer that counts ticks the sample ends on a tick.
        """
        given = {"srtt": srtt, "rttvar": rttvar, "rtt": sample, "time": sample, **columns}
        for name in ("srtt", "rttvar", "rtt"):
            v = np.asarray(given[name], float)
            if not ((v >= 0) & (v <= LONGEST)).all():
                raise InputError(
                    f"times of a timer lie between 0 and {LONGEST:g} s; "
                    f"{v[~((v >= 0) & (v <= LONGEST))].flat[0]:g} s was given"
                )
        shape = np.broadcast_shapes(*(np.shape(v) for v in given.values()))
        flat = {name: np.broadcast_to(np.asarray(v, float), shape).ravel() for name, v in given.items()}
        table = pa.table(_core.timer_steps(self.name, list(self.params), smss, raw(flat)))
        return {name: table[name].to_numpy().reshape(shape) for name in table.column_names}

    def replay(self, smss: int = 1, stretches: int = 0) -> _core.TimerReplay:
        """A replay of the timer in chunks and bounded memory."""
        return _core.TimerReplay(self.name, list(self.params), smss, stretches)


def raw(columns: Mapping[str, Array]) -> dict[str, bytes]:
    """The columns of a series for the compiled part: whole nanoseconds and bytes."""
    out = {}
    for name, values in columns.items():
        v = np.asarray(values)
        if name in ("time", "rtt", "srtt", "rttvar"):
            v = np.rint(v * NS)
        kind = np.uint64 if name in WHOLE else np.bool_ if name == "lost" else np.float64
        out[name] = np.ascontiguousarray(v, dtype=kind).tobytes()
    return out


def step(name: str, srtt: Array, rttvar: Array, sample: Array, **params: Array) -> dict[str, Array]:
    """A step of the timer `name` (`Timer.step`) with parameters that are numbers of any shape as well."""
    values = [np.asarray(v, float) for v in (srtt, rttvar, sample, *params.values())]
    shape = np.broadcast_shapes(*(v.shape for v in values))
    flat = [np.broadcast_to(v, shape).ravel() for v in values]
    settings, which = np.unique(np.stack([*flat[3:], np.zeros_like(flat[0])]), axis=1, return_inverse=True)
    out = {key: np.empty(flat[0].size) for key in ("srtt", "rttvar", "rto")}
    for n, setting in enumerate(settings.T):
        chosen = which.ravel() == n
        texts = {
            key: np.format_float_positional(x, trim="-") for key, x in zip(params, setting, strict=False)
        }
        made = (
            Timer(name, tuple(texts.items()))
            .but(min_rto="0s", max_rto="1h")
            .step(*(a[chosen] for a in flat[:3]))
        )
        for key, column in made.items():
            out[key][chosen] = column
    return {key: column.reshape(shape) for key, column in out.items()}
