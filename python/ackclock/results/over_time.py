"""Flows and links over time: rates, shares, fairness and convergence in bins of time, from the tables
`flow_series` and `link_series` of a run.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from ackclock._core import InputError

BINS = 100
"""Bins that a figure has by default, about."""
MOST_BINS = 20_000
MOST_CELLS = 20_000_000
"""Numbers of a table of lines by bins."""
DELTA = 0.1
"""The share by which flows may differ that count as fair to each other."""
NO_STACK = "datagrams"
"""What stands for the stack of sources of datagrams."""


@dataclass(frozen=True)
class Bins:
    """Bins of time, each of whole intervals of the table.

    edges (s): one more than bins. of: for each interval of the table the bin that it belongs to. moments: the
    ends of the intervals (s).
    """

    edges: np.ndarray
    of: np.ndarray
    moments: np.ndarray

    @staticmethod
    def over(table: pa.Table, width: float | None) -> Bins:
        """Bins of about `width` seconds, a multiple of the table's interval; by default about a hundred. A
        remainder at the end that is shorter than half a bin belongs to the last one.
        """
        moments, first = np.unique(table["time"].to_numpy(), return_index=True)
        if not moments.size:
            raise InputError("the tables over time are empty: the run ended before it began")
        intervals = table["interval"].to_numpy()[first]
        each = intervals[0]
        if width is None:
            width = nice(moments[-1] / BINS)
        if not width > 0:
            raise InputError(f"the width of bins is {width:g} s; give one above 0")
        n = max(round(width / each), 1)
        if moments.size / n > MOST_BINS:
            raise InputError(
                f"bins of {width:g} s make {moments.size // n} until {moments[-1]:g} s; expected at "
                f"most {MOST_BINS}"
            )
        starts = np.arange(0, moments.size, n)
        begin = moments[0] - each
        if starts.size > 1 and moments[-1] - moments[starts[-1] - 1] < 0.499 * n * each:
            starts = starts[:-1]
        of = np.minimum(np.arange(moments.size) // n, starts.size - 1)
        edges = np.concatenate([[begin], moments[np.append(starts[1:] - 1, moments.size - 1)]])
        return Bins(edges, of, moments)

    @property
    def size(self) -> int:
        """Their number."""
        return self.edges.size - 1

    @property
    def widths(self) -> np.ndarray:
        """How long each is (s)."""
        return np.diff(self.edges)

    @property
    def middles(self) -> np.ndarray:
        """The moments in the middle of each (s)."""
        return (self.edges[1:] + self.edges[:-1]) / 2

    def place(self, table: pa.Table) -> np.ndarray:
        """The bin of each row."""
        return self.of[np.searchsorted(self.moments, table["time"].to_numpy())]


@dataclass(frozen=True)
class Lines:
    """A number in bins of time, by name: `values` has a row for each name. flows: how many flows each name
    has.
    """

    bins: Bins
    names: list[str]
    values: np.ndarray
    flows: np.ndarray

    def __getitem__(self, name: str) -> np.ndarray:
        return self.values[self.names.index(name)]


@dataclass(frozen=True)
class Convergence:
    """A time without flows that began or ended, and when its flows were fair to each other.

    begin (s): when it began. flows: how many were active. after (s): from its beginning to the end of the
    first bin in which they were δ-fair; None if they never were.
    """

    begin: float
    flows: int
    after: float | None


class FlowsOverTime:
    """The rows of `flow_series` of one run, with its rows of `flows`."""

    def __init__(self, series: pa.Table, flows: pa.Table) -> None:
        self.series = series
        self.flows = flows

    @property
    def is_mixed(self) -> dict[str, int]:
        """How many names the flows have by `stack` and by `group`."""
        return {by: len(self._codes(by)[0]) for by in ("stack", "group")}

    def usual(self, most: int) -> str:
        """By which column lines are distinguished if nothing else is asked for: `flow` for up to `most`
        flows, otherwise `stack` or `group` if there are several.
        """
        if self.flows.num_rows <= most:
            return "flow"
        found = self.is_mixed
        return next((by for by in ("stack", "group") if found[by] > 1), "flow")

    def throughput(self, by: str = "flow", width: float | None = None) -> Lines:
        """Payload that arrived for the first time (bit/s), of each flow, or of all flows of each `stack` or
        `group`; NaN where none of them was active.
        """
        bins = Bins.over(self.series, width)
        names, code, flows = self._codes(by)
        place, shape = bins.place(self.series), (len(names), bins.size)
        sums = _grid(code, place, self.series["bytes_arrived"].to_numpy(), *shape)
        rows = _grid(code, place, np.ones(place.size), *shape)
        return Lines(bins, names, np.where(rows > 0, sums * 8 / bins.widths, np.nan), flows)

    def shares(self, by: str = "flow", width: float | None = None) -> Lines:
        """The share of each in the throughput of all flows; NaN where nothing arrived."""
        lines = self.throughput(by, width)
        with np.errstate(invalid="ignore", divide="ignore"):
            return Lines(lines.bins, lines.names, lines.values / np.nansum(lines.values, axis=0), lines.flows)

    def mean(self, column: str, width: float | None = None) -> Lines:
        """The mean of a column's known values for each TCP flow; NaN where there are none."""
        table = self.series.filter(
            pc.and_(pc.equal(self.series["protocol"], "tcp"), pc.is_valid(self.series[column]))
        )
        bins = Bins.over(self.series, width)
        names, code, flows = self._codes("flow", table)
        values = table[column].cast(pa.float64()).to_numpy()
        place = bins.place(table)
        sums = _grid(code, place, values, len(names), bins.size)
        with np.errstate(invalid="ignore", divide="ignore"):
            return Lines(
                bins, names, sums / _grid(code, place, np.ones(values.size), len(names), bins.size), flows
            )

    def active(self, width: float | None = None) -> Lines:
        """For each TCP flow, 1 in the bins in which it was active from beginning to end, otherwise 0."""
        bins = Bins.over(self.series, width)
        tcp = self._tcp()
        start, end = (tcp[name].to_numpy(zero_copy_only=False) for name in ("start", "end"))
        end = np.where(np.isnan(end), np.inf, end)
        inside = (start[:, None] <= bins.edges[None, :-1]) & (end[:, None] >= bins.edges[None, 1:])
        names = [f"flow {n}" for n in tcp["flow"].to_pylist()]
        return Lines(bins, names, inside.astype(float), np.ones(len(names), int))

    def jain(self, width: float | None = None) -> tuple[Bins, np.ndarray]:
        """Jain's index of the TCP flows that were active in the whole bin (Jain, Chiu and Hawe 1984): the
        square of the sum of their throughputs over n times the sum of the squares. 1 where all are equal,
        1/n where one has everything; NaN for fewer than two flows, or where nothing arrived.
        """
        lines, active = self.throughput("flow", width), self.active(width)
        order = {name: i for i, name in enumerate(active.names)}
        rows = [(i, order[name]) for i, name in enumerate(lines.names) if name in order]
        mine = np.zeros_like(active.values)
        for i, j in rows:
            mine[j] = np.nan_to_num(lines.values[i])
        return lines.bins, jain(mine * active.values, active.values.sum(axis=0))

    def convergence(self, width: float | None = None, delta: float = DELTA) -> list[Convergence]:
        """How long flows take until they are fair to each other, each time that one begins or ends: the
        δ-fair convergence time of Bansal, Balakrishnan, Floyd and Shenker, "Dynamic behavior of
        slowly-responsive congestion control algorithms" (SIGCOMM 2001), one of the metrics of RFC 5166
        section 2.3.3.

        There, two flows begin with 100/101 and 1/101 of the link, and are δ-fair once their shares are within
        (1 - δ)/2 and (1 + δ)/2; here they begin as they are. For two flows the end is Jain's index of at
        least 1/(1 + δ²), which counts here for any number of flows: the standard deviation of their
        throughputs is then at most δ times the mean. Times in which no bin lies are left out.
        """
        if not 0 < delta < 1:
            raise InputError(f"`delta` is {delta:g}; give a share between 0 and 1, such as {DELTA:g}")
        bins, index = self.jain(width)
        tcp = self._tcp()
        starts = tcp["start"].to_numpy()
        ends = tcp["end"].to_numpy(zero_copy_only=False)
        ends = np.where(np.isnan(ends), np.inf, ends)
        moments = np.unique(np.concatenate([starts, ends[np.isfinite(ends)]]))
        found = []
        for begin, until in zip(moments, np.append(moments[1:], np.inf), strict=True):
            inside = np.flatnonzero((bins.edges[:-1] >= begin) & (bins.edges[1:] <= until))
            flows = int(((starts <= begin) & (ends > begin)).sum())
            if flows < 2 or not inside.size:
                continue
            fair = inside[index[inside] >= 1 / (1 + delta**2)]
            after = float(bins.edges[fair[0] + 1] - begin) if fair.size else None
            found.append(Convergence(float(begin), flows, after))
        return found

    def _tcp(self) -> pa.Table:
        return self.flows.filter(pc.equal(self.flows["protocol"], "tcp"))

    def _codes(self, by: str, table: pa.Table | None = None) -> tuple[list[str], np.ndarray, np.ndarray]:
        """The names by that column, the number of each row's name, and how many flows each name has."""
        table = self.series if table is None else table
        if by not in ("flow", "stack", "group"):
            raise InputError(f"`by` is `{by}`; expected `flow`, `stack` or `group`")
        keys = table[by]
        if by == "stack":
            keys = pc.if_else(pc.equal(keys, ""), NO_STACK, keys)
        values, code = np.unique(
            np.asarray(keys.to_pylist(), dtype=None if by == "flow" else object), return_inverse=True
        )
        if by == "flow":
            names = [f"flow {n}" for n in values]
            return names, code, np.ones(len(names), int)
        # In the order in which they first appear, as in the scenario.
        first = np.full(len(values), len(code))
        np.minimum.at(first, code, np.arange(len(code)))
        order = np.argsort(first)
        rank = np.empty(len(values), int)
        rank[order] = np.arange(len(values))
        code = rank[code]
        numbers = table["flow"].to_numpy()
        flows = np.array([np.unique(numbers[code == i]).size for i in range(len(values))], int)
        return [str(values[i]) for i in order], code, flows


def jain(rates: np.ndarray, flows: np.ndarray) -> np.ndarray:
    """Jain's index of each column of `rates`, in which so many flows count; the others are zero."""
    with np.errstate(invalid="ignore", divide="ignore"):
        index = rates.sum(axis=0) ** 2 / (flows * (rates**2).sum(axis=0))
    return np.where(flows >= 2, index, np.nan)


@dataclass(frozen=True)
class LinkOverTime:
    """The rows of `link_series` of one link in one run."""

    series: pa.Table

    def sojourn(self, width: float | None = None) -> tuple[Bins, np.ndarray, np.ndarray]:
        """The mean and the largest sojourn time (s) in its queue in each bin; NaN where nothing left it."""
        bins = Bins.over(self.series, width)
        place = bins.place(self.series)
        mean, largest = (
            self.series[name].to_numpy(zero_copy_only=False).astype(float)
            for name in ("sojourn_mean", "sojourn_max")
        )
        known = ~np.isnan(mean)
        # A packet that went into service is on the wire a moment later.
        weight = np.where(known, np.maximum(self.series["packets"].to_numpy(), 1), 0)
        with np.errstate(invalid="ignore", divide="ignore"):
            means = np.bincount(place, np.where(known, mean, 0) * weight, bins.size) / np.bincount(
                place, weight, bins.size
            )
        most = np.full(bins.size, -np.inf)
        np.maximum.at(most, place[known], largest[known])
        return bins, means, np.where(np.isfinite(most), most, np.nan)

    def signals(self, width: float | None = None) -> tuple[Bins, dict[str, np.ndarray]]:
        """Packets per second that were dropped or marked in each bin, by cause; causes without any are left
        out.
        """
        bins = Bins.over(self.series, width)
        place = bins.place(self.series)
        found = {}
        for column, words in CAUSES.items():
            counts = np.bincount(place, self.series[column].to_numpy(), bins.size)
            if counts.any():
                found[words] = counts / bins.widths
        return bins, found


CAUSES: Mapping[str, str] = {
    "dropped_full": "dropped: queue full",
    "dropped_early": "dropped: early",
    "dropped_pushed_out": "dropped: pushed out",
    "dropped_shed": "dropped: shed from the queue",
    "dropped_policed": "dropped: over the policer's rate",
    "dropped_oversized": "dropped: too large",
    "dropped_wire": "lost: fault on the wire",
    "marked": "marked (ECN)",
}
"""The columns of `link_series` that count drops and marks, in words."""


def nice(x: float) -> float:
    """The smallest of 1, 2 and 5 times a power of ten that is at least x."""
    power = 10.0 ** np.floor(np.log10(x))
    return next(float(m * power) for m in (1, 2, 5, 10) if m * power >= x * (1 - 1e-9))


def _grid(code: np.ndarray, place: np.ndarray, values: np.ndarray, rows: int, columns: int) -> np.ndarray:
    """The sums of `values` in a table of `rows` by `columns`."""
    if rows * columns > MOST_CELLS:
        raise InputError(
            f"{rows} flows in {columns} bins are too many for a figure: give `by` as `stack` or `group`, or "
            "a larger `width`"
        )
    return np.bincount(code * columns + place, values, rows * columns).reshape(rows, columns)
