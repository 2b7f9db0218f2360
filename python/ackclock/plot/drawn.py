"""What a figure draws, as one short digest: two figures with the same one show the same data in the same
colours and words. An image carries it, so that a test sees where the image is older than its record.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
from matplotlib.axes import Axes
from matplotlib.collections import Collection, QuadMesh
from matplotlib.colors import to_hex
from matplotlib.figure import Figure
from matplotlib.patches import Patch
from matplotlib.ticker import FixedFormatter

from ackclock.plain import plain
from ackclock.plot.style import HEADING

KEY = "Drawn"
"""The name of the digest among an image's properties."""
LENGTH = 16
DIGITS = 4
"""Digits of a number that a reader could tell apart; logarithms of processors differ beyond."""


def digest(fig: Figure) -> str:
    """The digest of what a figure draws: the numbers, to four digits, and the words. It is the same before
    and after the figure was drawn.
    """
    found = hashlib.sha256()
    for part in parts(fig):
        found.update(f"{part}\n".encode())
    return found.hexdigest()[:LENGTH]


def digest_of_image(file: Path) -> str:
    """The digest that an image carries; empty for one that carries none."""
    from PIL import Image

    with Image.open(file) as image:
        return str(image.info.get(KEY, ""))


def parts(fig: Figure) -> Iterator[str]:
    """What a figure draws, in lines."""
    yield " ".join(f"{inches:g}" for inches in fig.get_size_inches())
    yield from (f"text {plain(t.get_text())}" for t in fig.texts)
    for axes in fig.axes:
        yield from parts_of(axes)
        for inset in axes.child_axes:
            yield from parts_of(inset)
    for box in fig.legends:
        yield from (f"legend {plain(t.get_text())}" for t in box.get_texts())


def parts_of(axes: Axes) -> Iterator[str]:
    """What a pair of axes draws, in lines."""
    yield f"axes {' '.join(plain(axes.get_title(loc)) for loc in ('left', 'center', 'right'))}"
    for axis, ends in ((axes.xaxis, axes.get_xlim()), (axes.yaxis, axes.get_ylim())):
        yield f"axis {plain(axis.get_label_text())} {axis.get_scale()} {numbers(ends)}"
        if isinstance(names := axis.get_major_formatter(), FixedFormatter):
            yield f"ticks {numbers(axis.get_majorticklocs())} {' '.join(map(plain, names.seq))}"
    for line in axes.lines:
        marked = f"{to_hex(line.get_color())} {line.get_linestyle()} {line.get_marker()}"
        yield f"line {marked} {numbers(line.get_xydata())}"
    for patch in axes.patches:
        yield f"patch {to_hex(patch.get_facecolor())} {numbers(outline(patch))}"
    for several in axes.collections:
        yield f"collection {' '.join(map(numbers, places(several)))}"
    yield from (f"image {numbers(image.get_array())}" for image in axes.images)
    for text in axes.texts:
        x, y = text.get_position()
        # A heading moves to the left where it would leave the figure.
        at = (0.0 if text.get_gid() == HEADING else x, y)
        yield f"text {numbers(at)} {plain(text.get_text())}"
    if box := axes.get_legend():
        yield from (f"legend {plain(t.get_text())}" for t in box.get_texts())


def outline(patch: Patch) -> Any:
    """The corners of a patch, in the units in which it was given."""
    return patch.get_patch_transform().transform_path(patch.get_path()).vertices


def places(several: Collection) -> Iterator[Any]:
    """The numbers of a collection: where its members are, what they look like, what colours them."""
    # What is coloured by numbers gets its colours only as it is drawn.
    yield several.get_facecolor() if several.get_array() is None else several.get_array()
    yield several.get_offsets()
    if isinstance(several, QuadMesh):
        yield several.get_coordinates()
    else:
        yield from (path.vertices for path in several.get_paths())


def numbers(values: Any) -> str:
    """Numbers to as many digits as a reader sees; what is next to nothing beside the others is nothing."""
    given = np.ma.filled(np.ma.asarray(values, dtype=float), np.nan).ravel()
    finite = np.abs(given[np.isfinite(given)])
    given = np.where(np.abs(given) < 1e-9 * finite.max(initial=0.0), 0.0, given) + 0.0
    return f"{given.size}: " + " ".join(f"{value:.{DIGITS}g}" for value in given)
