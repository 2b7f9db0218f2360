"""The worked examples of docs/examples.md: what their commands print, and their figures.
`python docs/examples.py [NAME...]` draws the figures.
"""

from __future__ import annotations

import re
import sys
import tempfile
from dataclasses import dataclass
from pathlib import Path

import matplotlib.pyplot as plt
from click.testing import CliRunner
from matplotlib.figure import Figure

import ackclock as ac
from ackclock.cli import run as command
from ackclock.reproduce.pages import png

HERE = Path(__file__).parent
SCENARIOS = HERE.parent / "scenarios"
IMAGES = HERE / "images"


@dataclass(frozen=True)
class Example:
    """A command and its figure."""

    name: str
    scenario: str
    plot: str
    shows: str
    """What the figure shows, for those who do not see it."""
    changes: tuple[tuple[str, str], ...] = ()

    @property
    def arguments(self) -> list[str]:
        """The arguments of `ackclock run`, without the scenario."""
        return [*(f"--set={key}={value}" for key, value in self.changes), f"--plot={self.plot}"]

    @property
    def command(self) -> str:
        """The command as one types it."""
        typed = [*(f"--set {key}={value}" for key, value in self.changes), f"--plot {self.plot}"]
        return " ".join(["ackclock run", f"scenarios/{self.scenario}.toml", *typed])

    @property
    def image(self) -> Path:
        """The file of its figure."""
        return IMAGES / f"example-{self.name}.png"

    def printed(self) -> str:
        """What the command prints."""
        with tempfile.TemporaryDirectory() as folder:
            file = str(SCENARIOS / f"{self.scenario}.toml")
            done = CliRunner().invoke(
                command.command, [file, *self.arguments, "--out", str(Path(folder, "run"))]
            )
        if done.exit_code:
            raise SystemExit(f"{self.command}: {done.output}") from done.exception
        return done.stdout.rstrip()

    def section(self) -> str:
        """Command, output and figure in Markdown."""
        text = "\n".join(f"    {line}".rstrip() for line in self.printed().splitlines())
        return f"    $ {self.command}\n{text}\n\n![{self.shows}](images/{self.image.name})"

    def figure(self) -> Figure:
        """The figure as the command draws it."""
        given = ac.Scenario.read(SCENARIOS / f"{self.scenario}.toml").but(dict(self.changes))
        run = command.recording(given, (self.plot,))[0].simulate()
        return getattr(run.plot, self.plot)()

    def draw(self) -> None:
        """Writes its image."""
        figure = self.figure()
        self.image.write_bytes(png(figure))
        plt.close(figure)


LARGE = "Queueing delay of about a second behind a buffer of 1000 packets"
FAIR = "Queueing delay of about 15 ms behind FQ-CoDel"
L4S = "Windows and round-trip times: about 41 ms for Prague, 42 to 60 ms for CUBIC"
CELLULAR = "Queueing delay behind a cellular link: up to a second with CUBIC, half of it with BBR"
POLICER = "Next to no queueing delay behind a policer, and drops all the time"
LEO = "Throughput over four satellites in turn: CUBIC falls to a tenth on the lossy one, BBR follows the rate"
INCAST = "Throughput of 32 flows: bursts and long pauses with 200 ms, short ones with 1 ms"
EXAMPLES = (
    Example("bufferbloat", "bufferbloat", "queue", LARGE),
    Example("fq-codel", "bufferbloat", "queue", FAIR, (("path.bottleneck.queue", "fq-codel"),)),
    Example("l4s", "l4s", "cwnd", L4S),
    Example("cellular", "cellular", "queue", CELLULAR),
    Example("policer", "policer", "queue", POLICER),
    Example("leo", "leo", "throughput", LEO),
    Example("incast", "incast", "throughput", INCAST),
)


def page() -> str:
    """The page of the examples."""
    text = (HERE / "examples.in.md").read_text(encoding="utf-8")
    found = re.findall(r"{{(.+)}}", text)
    assert found == [e.name for e in EXAMPLES], "each example has its place, in order"
    for example in EXAMPLES:
        text = text.replace("{{" + example.name + "}}", example.section())
    return text


def main() -> int:
    """Draws the figures named, or all."""
    for example in EXAMPLES:
        if example.name in sys.argv[1:] or len(sys.argv) == 1:
            example.draw()
    return 0


if __name__ == "__main__":
    sys.exit(main())
