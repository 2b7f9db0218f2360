"""Sweeps: runs over axes, seeds and filters of any key of a scenario, on all cores or a cluster. Finished
runs are kept.

    axes = {"path.rtt": "10ms..300ms:5log", "stacks.tcp": ["reno", "sack"]}
    found = ac.Sweep(scenario, axes=axes, seeds=3).run()
    runs = ac.sweep.run_all([scenario(flows) for flows in (8, 32, 128)])

`docs/sweeps.md` has the rest.
"""

from ackclock.sweep.axis import Axis
from ackclock.sweep.remote import Scheduler
from ackclock.sweep.result import SweepResult
from ackclock.sweep.runs import run_all
from ackclock.sweep.sweep import Sweep

__all__ = ["Axis", "Scheduler", "Sweep", "SweepResult", "run_all"]
