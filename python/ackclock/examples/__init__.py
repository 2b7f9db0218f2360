"""Files to begin with, which `ackclock examples` writes."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from ackclock._core import InputError

HERE = Path(__file__).parent


@dataclass(frozen=True)
class Example:
    """A file that comes with the package."""

    file: str
    about: str
    """What it is."""
    command: str
    """A command that uses it."""
    source: str | None = None
    """The file of the repository that it is a copy of; None where it is the only one."""

    def read(self) -> bytes:
        """What the file holds."""
        return (HERE / self.file).read_bytes()


EXAMPLES = (
    Example(
        "short-lossy.toml",
        "a scenario: short transfers over a lossy link, seven TCPs",
        "ackclock run short-lossy.toml",
        "scenarios/short-lossy.toml",
    ),
    Example(
        "congested-dumbbell.toml",
        "a scenario: web transfers over an overloaded link, with and without backoff",
        "ackclock run congested-dumbbell.toml --set duration=10s",
        "scenarios/congested-dumbbell.toml",
    ),
    Example(
        "bufferbloat.toml",
        "a scenario: four downloads and an interactive flow behind a large buffer",
        "ackclock run bufferbloat.toml --plot queue",
        "scenarios/bufferbloat.toml",
    ),
    Example(
        "delay.toml",
        "a plan of a sweep: three TCPs over two round-trip times, three seeds",
        "ackclock sweep delay.toml",
    ),
    Example(
        "slow.pcap.gz",
        "a capture: an upload whose first packet was lost, and others later",
        "ackclock capture slow.pcap.gz",
    ),
    Example(
        "series.csv",
        "600 round-trip times with four sudden delays, made up",
        "ackclock timers series.csv",
    ),
    Example(
        "two-duplicates.pkt",
        "a script in packetdrill's language: two duplicate acks send new data",
        "ackclock script two-duplicates.pkt",
        "scripts/loss/rfc3042-2-first-two-duplicates-send-new-data.pkt",
    ),
)


def find(name: str) -> Example:
    """The example of that name, with or without the ending of its file. Raises `InputError`."""
    for e in EXAMPLES:
        if name in (e.file, e.file.partition(".")[0]):
            return e
    raise InputError(f"`{name}` is not an example; expected one of {', '.join(e.file for e in EXAMPLES)}")


def write(names: list[str], folder: Path) -> list[Path]:
    """Writes examples into a folder, all of them or, where one of their names is taken, none. Raises
    `InputError`.
    """
    chosen = list(dict.fromkeys(map(find, names)))
    for e in chosen:
        if (folder / e.file).exists() or (folder / e.file).is_symlink():
            raise InputError(
                f"`{e.file}` is here already and is not overwritten; expected a folder without it"
            )
    written = []
    for e in chosen:
        # Exclusive: a file that appears meanwhile is not overwritten either.
        with (folder / e.file).open("xb") as f:
            f.write(e.read())
        written.append(folder / e.file)
    return written
