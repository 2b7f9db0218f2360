"""Items of the papers that can be run: a file each, with the register's checks and tolerances."""

from ackclock.reproduce import backoff2008, eifel2000, interactive2007, jacobson88, mathis97
from ackclock.reproduce.item import ITEMS, Check, Item, Outcome, Setting, find

__all__ = [
    "ITEMS",
    "Check",
    "Item",
    "Outcome",
    "Setting",
    "backoff2008",
    "eifel2000",
    "find",
    "interactive2007",
    "jacobson88",
    "mathis97",
]
