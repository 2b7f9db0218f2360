from __future__ import annotations

import pyarrow as pa

from ackclock.models.backoff2008 import backed_off_load
from ackclock.reproduce.backoff2008.e3_without_backoff import RTO
from ackclock.reproduce.item import Outcome, Setting, item, six_digits


@item("B-E4", kind="CF", title="Load after k backoffs")
def reproduce(setting: Setting) -> Outcome:
    """The four flows of B-E3 with no, the just sufficient, and one backoff."""
    k = [0.0, 0.736966, 1.0]
    load = backed_off_load(RTO, k[0]), backed_off_load(RTO, k[1]), backed_off_load(RTO, k[2])
    check = six_digits("load (packets/s) at k = 0, 0.736966, 1", load, [8.33333, 5.0, 4.16667])
    return Outcome([check], {"points": pa.table({"k": k, "load": [float(x) for x in load]})})
