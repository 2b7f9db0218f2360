"""Results: tables, numbers and folders of runs, and of captures."""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from ackclock.results.capture import Capture, read_capture
    from ackclock.results.run import Run, load
    from ackclock.results.sender import Sender, name_sender

__all__ = ["Capture", "Run", "Sender", "load", "name_sender", "read_capture"]

# Imported on use: they load libraries that start threads, without which the other modules must do.
HOMES = {
    "Capture": "capture",
    "Run": "run",
    "Sender": "sender",
    "load": "run",
    "name_sender": "sender",
    "read_capture": "capture",
}


def __getattr__(name: str) -> Any:
    if name not in HOMES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(importlib.import_module(f"ackclock.results.{HOMES[name]}"), name)
