from __future__ import annotations

from pathlib import Path

import click

from ackclock.cli.run import OVER_TIME, figures, override, recording, show
from ackclock.cli.whole import Whole
from ackclock.console import bar, note, print_json, say
from ackclock.plain import listed
from ackclock.quantities import seconds
from ackclock.scenario import Scenario


@click.command("testbed")
@click.argument("scenario", type=click.Path(path_type=Path))
@click.option(
    "--set",
    "overrides",
    multiple=True,
    metavar="KEY=VALUE",
    help="Change a value, by dotted key: --set path.rtt=50ms. May be repeated.",
)
@click.option("--allow-files", is_flag=True, help="Let the scenario name files outside its folder.")
@click.option("--out", type=click.Path(path_type=Path), help="The run folder; runs/NAME-kernel by default.")
@click.option(
    "--seeds",
    type=Whole(1, 1000),
    metavar="N",
    help="Run each stack N times, with seeds 1 to N in place of the scenario's.",
)
@click.option(
    "--beside",
    is_flag=True,
    help="Simulate the same too, and show both side by side.",
)
@click.option(
    "--plot",
    "plots",
    type=click.Choice(OVER_TIME),
    multiple=True,
    help="A figure, for which the run records what it needs. May be repeated.",
)
@click.option(
    "--workers",
    type=Whole(1, 64),
    help="Seeds side by side; one for two cores by default.",
)
@click.option(
    "--keep",
    type=click.Path(path_type=Path),
    help="Keep finished seeds in this folder, and do not run again those that are there: a command that "
    "was interrupted goes on.",
)
@click.option(
    "--pcap",
    type=click.Path(path_type=Path),
    help="A pcapng file to write: the packets at the first client's host, in the first run.",
)
@click.option("--json", "as_json", is_flag=True, help="Print JSON.")
def command(
    scenario: Path,
    overrides: tuple[str, ...],
    allow_files: bool,
    out: Path | None,
    seeds: int | None,
    beside: bool,
    plots: tuple[str, ...],
    workers: int | None,
    keep: Path | None,
    pcap: Path | None,
    as_json: bool,
) -> None:
    """Run SCENARIO (a TOML file) on the kernel's TCP, over emulated links.

    Every host is a network namespace of its own, and the links of the scenario are emulated in real time.
    Prints the table of `ackclock run` and writes the same run folder. Needs Linux, and root or user
    namespaces. Stacks are those of the kernel: a preset such as linux, or a table `kernel`.

    \b
        ackclock examples bufferbloat.toml
        ackclock testbed bufferbloat.toml --set stacks.cubic=linux --beside
    """
    from ackclock.kernel import expected_seconds
    from ackclock.results import folder
    from ackclock.sweep.seeds import run_seeds

    given = Scenario.read(scenario, allow_files=allow_files).but(dict(map(override, overrides)))
    if seeds is not None:
        given = given.but({"seeds": list(range(1, seeds + 1))})
    target = out or Path("runs") / f"{scenario.stem}-kernel"
    folder.check_writable(target)
    given, recorded = recording(given, plots)
    given.check_testbed()
    note(f"Real time: at most {seconds(expected_seconds(given.resolve_tree()))}.")
    with bar(scenario.stem) as progress:
        run = run_seeds(given, workers=workers, keep=keep, progress=progress, capture=pcap)
    twin = None
    if beside:
        with bar(f"{scenario.stem}, simulated") as progress:
            twin = given.simulate(progress=progress)
    drawings = figures(run, plots)
    compared = None
    if twin is not None:
        from ackclock.kernel.beside import Beside

        compared = Beside.of(run, twin)
        run.about["beside"] = compared.described()
        drawings["beside"] = compared.figure
    written = run.save(target, drawings)
    if as_json:
        print_json({**run.summary, "folder": str(written)})
        return
    if compared is not None:
        say(compared.sentence())
        compared.show()
    else:
        show(run)
    if recorded:
        note(recorded)
    note(lateness(run.about["testbed"]))
    for sentence in missing(run.about["testbed"]):
        note(sentence)
    drawn = sorted(path.name for path in written.glob("*.png"))
    note(f"Run folder: {written}{f', with {listed(drawn)}' if drawn else ''}")


def missing(testbed: dict[str, object]) -> list[str]:
    """Sentences on numbers that this kernel's events do not tell, each once."""
    runs = testbed["runs"]
    assert isinstance(runs, list)
    found = dict.fromkeys(why for r in runs for why in r.get("events", {}).get("missing", []))
    return [f"{why[0].upper()}{why[1:]}." for why in found]


def lateness(testbed: dict[str, object]) -> str:
    """A sentence on how well the emulator kept time."""
    runs = testbed["runs"]
    assert isinstance(runs, list)
    deliveries = sum(r["late"]["deliveries"] for r in runs)
    late = sum(r["late"]["late"] for r in runs)
    mean = sum(r["late"]["mean"] * r["late"]["deliveries"] for r in runs) / max(deliveries, 1)
    most = max((r["late"]["max"] for r in runs), default=0.0)
    return (
        f"{testbed['kernel']}; packets were {seconds(mean)} late on average and {seconds(most)} at most, "
        f"{late:,} of {deliveries:,} more than 1 ms."
    )
