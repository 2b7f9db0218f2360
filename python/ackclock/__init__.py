"""A laboratory for the part of a transport protocol that decides when to send again and how much."""

from ackclock._core import AckclockError, InputError, PolicyError, ScenarioError, SimulationError
from ackclock._core import version as __version__

__all__ = ["AckclockError", "InputError", "PolicyError", "ScenarioError", "SimulationError", "__version__"]
