"""Figures of the home page that move: a slider through runs that ackclock makes when the site is built.

    :::{live} buffer
    :::

The figures are kept in `docs/_live` and made again for another version of ackclock or of this file.
"""

from __future__ import annotations

import hashlib
import html
import re
import shlex
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from docutils import nodes
from docutils.parsers.rst import Directive
from matplotlib.figure import Figure
from sphinx.application import Sphinx

import ackclock as ac

ROOT = Path(__file__).parents[2]
WIDTH = 6.0
"""Of the figures, inches."""


@dataclass(frozen=True)
class Live:
    """A scenario under several values of one key."""

    scenario: str
    figure: str
    key: str
    label: str
    values: tuple[str, ...]
    begin: int
    """The place of the value that is shown first."""
    alt: str
    fixed: tuple[tuple[str, str], ...] = ()

    def command(self, value: str) -> str:
        """The command that makes one of them."""
        sets = "".join(f" --set {shlex.quote(f'{k}={v}')}" for k, v in (*self.fixed, (self.key, value)))
        plot = f" --plot {self.figure}" if self.figure != "response_time" else ""
        return f"ackclock run {self.scenario}.toml{sets}{plot}"

    def shown(self, value: str) -> str:
        """A value as it is read: with a space before its unit."""
        return re.sub(r"(?<=\d)(?=[a-z])", " ", value)

    def draw(self, value: str, file: Path) -> None:
        """Runs one of them and draws it."""
        import matplotlib.pyplot as plt

        from ackclock.cli.run import recording

        given = ac.Scenario.read(ROOT / f"scenarios/{self.scenario}.toml")
        given = given.but({**dict(self.fixed), self.key: value})
        if self.figure == "response_time":
            fig = given.simulate().plot.ccdf("response_time")
        else:
            fig = getattr(recording(given, (self.figure,))[0].simulate().plot, self.figure)()
        narrow(fig)
        fig.savefig(file, format="svg")
        plt.close(fig)


LIVE = {
    "backoff": Live(
        "congested-dumbbell",
        "response_time",
        "workload.load",
        "Load, as a share of what the link carries",
        ("0.8", "0.9", "1.0", "1.1", "1.2"),
        4,
        "How long short web transfers take, with exponential backoff and without",
        (("duration", "20s"),),
    ),
    "buffer": Live(
        "bufferbloat",
        "queue",
        "path.bottleneck.queue.limit",
        "Buffer in front of the link",
        ("30packets", "100packets", "300packets", "1000packets"),
        3,
        "How long packets wait in the buffer behind CUBIC and behind BBR",
        (("duration", "30s"), ("stacks.bbr", '{ preset = "sack", window = "bbr" }')),
    ),
}


def narrow(fig: Figure) -> None:
    """Makes a figure readable on a phone: legends that stand beside panels go below all of them."""
    fig.set_size_inches(WIDTH, fig.get_figheight())
    for axes in fig.axes:
        box = axes.get_legend()
        # A legend that ends beyond the axes stands beside them.
        if box and box.get_bbox_to_anchor().x0 > axes.bbox.x1:
            handles, words = axes.get_legend_handles_labels()
            box.remove()
            fig.legend(handles, words, loc="outside lower left", fontsize=9, handlelength=3.2)


class LiveFigure(Directive):
    """`live`: a figure, its slider and the command of what is shown."""

    required_arguments = 1

    def run(self) -> Sequence[nodes.Node]:
        """Makes its HTML."""
        name = self.arguments[0]
        if name not in LIVE:
            raise self.error(f"`{name}` is no live figure; expected one of {', '.join(LIVE)}")
        live = LIVE[name]
        frames = "".join(
            f'<figure data-value="{html.escape(live.shown(value))}"{"" if n == live.begin else " hidden"}>'
            f'<img src="_static/live-{name}-{n}.svg" alt="{html.escape(live.alt)}: {html.escape(value)}" '
            f'loading="lazy"><figcaption><code>{html.escape(live.command(value))}</code></figcaption></figure>'
            for n, value in enumerate(live.values)
        )
        text = (
            f'<div class="live"><label>{html.escape(live.label)}: '
            f"<output>{html.escape(live.shown(live.values[live.begin]))}</output>"
            f'<input type="range" min="0" max="{len(live.values) - 1}" value="{live.begin}" step="1"></label>'
            f"{frames}</div>"
        )
        return [nodes.raw("", text, format="html")]


def draw(app: Sphinx) -> None:
    """Draws what is not there yet."""
    folder = Path(app.srcdir) / "_live"
    folder.mkdir(exist_ok=True)
    made_by = folder / "made-by.txt"
    now = f"{ac.__version__} {hashlib.sha256(Path(__file__).read_bytes()).hexdigest()}"
    if made_by.exists() and made_by.read_text(encoding="utf-8") == now:
        return
    for name, live in LIVE.items():
        for n, value in enumerate(live.values):
            live.draw(value, folder / f"live-{name}-{n}.svg")
    made_by.write_text(now, encoding="utf-8")


def setup(app: Sphinx) -> dict[str, bool]:
    """What Sphinx calls."""
    app.add_directive("live", LiveFigure)
    app.connect("builder-inited", draw)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
