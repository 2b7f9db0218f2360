from __future__ import annotations

from math import sqrt
from typing import Any

import numpy as np
import pyarrow as pa

import ackclock as ac
from ackclock.plot import style
from ackclock.reproduce.item import Outcome, Setting, at_most, exactly, item, stated
from ackclock.reproduce.mathis97 import lossy, probes
from ackclock.reproduce.real import LEFT_OUT
from ackclock.scenario import Scenario, variation

LOSSES = (0.001, 0.003, 0.01, 0.03)
RTT = 60
"""ms."""
SECONDS = 60
RUNS = 40
"""Of each loss and kind."""
OUTAGE = 0.3
"""Seconds: several round trips and longer than an ack is delayed, so that a whole window is lost."""
EVERY = 60.0
"""Seconds between outages, on average: one in each run."""
REAL_SECONDS, REAL_RTT = 6.0, 20
FAR, ERRORS = 3.0, 2.0


def faults(p: float, outages: bool, rng: np.random.Generator) -> list[dict[str, Any]]:
    """Random loss, and perhaps an outage somewhere in the run."""
    found: list[dict[str, Any]] = [{"kind": "loss", "p": p}]
    if outages:
        at = rng.uniform(5, SECONDS - 5)
        found.append({"kind": "outage", "from": f"{at:.3f}s", "until": f"{at + OUTAGE:.3f}s"})
    return found


def path(p: float, outages: bool, seed: int) -> str:
    """The probe's path."""
    rng = np.random.default_rng([variation.seed(17), seed, int(outages), round(1e6 * p)])
    link = {"rate": "10Gbit/s", "delay": f"{RTT / 2}ms"}
    return Scenario.of(
        {"kind": "single", "link": {**link, "faults": faults(p, outages, rng)}, "back": link},
        {"kind": "bulk"},
        {"x": "sack"},
        seed=variation.seed(seed),
    ).text


def sender(p: float, seed: int) -> ac.Scenario:
    """FACK-RH in the simulator over the same loss, no outages."""
    case = lossy.Case("FACK-RH DA", p, RTT / 2000, seed=seed)
    return lossy.scenario(case).but({"duration": f"{SECONDS}s", "measure_from": "0s"})


def share(timeouts: list[int]) -> float:
    """Runs with a timeout, of all."""
    return sum(t > 0 for t in timeouts) / len(timeouts)


@item(
    "M-X17",
    kind="SIM, REAL",
    title="Outages that swallow a window make TReno time out more than FACK-RH",
    choices={
        "probe": "TReno's rules (M-U3) with delayed acks emulated, over a path in virtual time, replies "
        "at full "
        "rate; and over the emulator between two kernels in namespaces",
        "FACK-RH": "in the simulator with delayed acks, the same loss without outages",
        "loss": f"random, {', '.join(map(str, LOSSES))}; {RTT} ms, no queue",
        "outages": f"one of {1e3 * OUTAGE:g} ms at a random moment of each run, which takes a whole window",
        "runs": f"{RUNS} of {SECONDS} s for each loss and kind (200 with --full), of which all losses "
        f"together "
        "make a share; without outages equal within two binomial standard errors",
        "real packets": f"{REAL_SECONDS:g} s over {REAL_RTT} ms with an outage and without ({SECONDS} s with "
        "--full)",
    },
)
def reproduce(setting: Setting) -> Outcome:
    """Runs of a minute with and without outages, beside the sender's."""
    runs = 200 if setting.full else RUNS
    seeds = range(1, runs + 1)
    rows: list[dict[str, Any]] = []
    senders = setting.run_all([sender(p, s) for p in LOSSES for s in seeds], "M-X17", (0, 0.3))
    for (p, seed), run in zip([(p, s) for p in LOSSES for s in seeds], senders, strict=True):
        f = run.flows.to_pylist()[0]
        rows.append(
            {
                "kind": "FACK-RH",
                "loss": p,
                "seed": seed,
                "timeouts": f["timeouts"],
                "non_ca": f["non_ca_events"],
            }
        )
    jobs = [(kind, p, s) for kind in ("TReno", "TReno, outages") for p in LOSSES for s in seeds]
    for n, (kind, p, seed) in enumerate(jobs):
        found = probes.simulated(path(p, "outages" in kind, seed), probes.settings(SECONDS))
        rows.append(
            {
                "kind": kind,
                "loss": p,
                "seed": seed,
                "timeouts": found["timeouts"],
                "non_ca": found["non_ca_events"],
            }
        )
        setting.progress(0.3 + 0.6 * n / len(jobs), "M-X17, probes")

    def of(kind: str, column: str, p: float | None = None) -> list[int]:
        return [r[column] for r in rows if r["kind"] == kind and p in (None, r["loss"])]

    fack, plain, outages = (share(of(k, "timeouts")) for k in ("FACK-RH", "TReno", "TReno, outages"))
    total = runs * len(LOSSES)
    able = [p for p in LOSSES if share(of("FACK-RH", "timeouts", p)) <= 1 / FAR]
    pooled = (fack + plain) / 2
    error = sqrt(2 * pooled * (1 - pooled) / total)
    low = LOSSES[:2]
    quiet = [r for r in rows if r["kind"] == "TReno, outages" and r["loss"] in low]
    checks = [
        stated(
            "share of runs with timeouts with outages, over FACK-RH's without, at losses where three "
            "times that "
            f"share is at most all runs ({', '.join(map(str, able))})",
            "; ".join(
                f"{share(of('TReno, outages', 'timeouts', p)):.2f} over "
                f"{share(of('FACK-RH', 'timeouts', p)):.2f}"
                for p in able
            ),
            all(
                share(of("TReno, outages", "timeouts", p)) >= FAR * share(of("FACK-RH", "timeouts", p))
                for p in able
            ),
            "3 times at each",
        ),
        at_most(
            "without outages: difference of the two shares",
            abs(plain - fack),
            ERRORS * error,
            "2 standard errors",
        ),
        exactly(
            f"outages that are a non-CA event, loss up to {low[-1]:g}",
            sum(r["non_ca"] > 0 for r in quiet),
            len(quiet),
        ),
    ]
    notes = [
        f"{kind}, loss {p:g}: {100 * share(of(kind, 'timeouts', p)):.0f} % of {runs} runs with timeouts, "
        f"{np.mean(of(kind, 'non_ca', p)):.2f} non-CA events a run"
        for kind in ("FACK-RH", "TReno", "TReno, outages")
        for p in LOSSES
    ]
    notes.append(
        f"All losses together: {100 * outages:.0f} % of the runs with timeouts with outages, "
        f"{100 * fack:.0f} % of "
        "FACK-RH's without: at 0.01 and more most runs have timeouts anyway, and no share is three times "
        "theirs."
    )
    real = over_packets(setting.full)
    if isinstance(real, str):
        notes.append(f"{LEFT_OUT}: {real}")
    else:
        with_it, without = real
        notes.append(
            f"real packets over {REAL_RTT} ms, loss 0.003: with an outage {with_it['timeouts']} timeouts and "
            f"{with_it['non_ca_events']} non-CA events, without {without['timeouts']} and "
            f"{without['non_ca_events']}"
        )
    fig, axes = style.figure(
        "Runs with timeouts, with and without an outage",
        f"{runs} runs of {SECONDS} s for each loss; bars: binomial standard errors",
    )
    for i, kind in enumerate(("FACK-RH", "TReno", "TReno, outages")):
        y = np.array([share(of(kind, "timeouts", p)) for p in LOSSES])
        axes.errorbar(
            LOSSES,
            y,
            yerr=np.sqrt(y * (1 - y) / runs),
            marker="osD"[i],
            capsize=2,
            label={"TReno, outages": "TReno, an outage in each run"}.get(kind, kind),
            **style.line(i),
        )
    axes.set(
        xscale="log", xlabel="loss of the path", ylabel="share of runs with a timeout", ylim=(-0.03, 1.05)
    )
    axes.grid(True)
    axes.legend(loc="best", fontsize=9)
    return Outcome(checks, {"runs": pa.Table.from_pylist(rows)}, {"timeouts": fig}, notes)


def over_packets(full: bool) -> list[dict[str, Any]] | str:
    """A run over real packets with an outage, and one without; or what is missing for them."""
    seconds = SECONDS if full else REAL_SECONDS
    outage = {"kind": "outage", "from": f"{seconds / 2}s", "until": f"{seconds / 2 + OUTAGE}s"}
    link = {"rate": "10Gbit/s", "delay": f"{REAL_RTT / 2}ms"}
    wanted = []
    for more in ([outage], []):
        there = {**link, "faults": [{"kind": "loss", "p": 0.003}, *more]}
        text = Scenario.of(
            {"kind": "single", "link": there, "back": link}, {"kind": "bulk"}, {"x": "sack"}, seed=1
        ).text
        wanted.append({"path": text, "settings": probes.settings(seconds, max_rate=1e8)})
    return probes.emulated(wanted)
