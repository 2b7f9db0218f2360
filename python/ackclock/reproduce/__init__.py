"""Items of the papers that can be run: a file each, with the register's checks and tolerances; a folder for
each paper.
"""

from ackclock.reproduce import papers
from ackclock.reproduce.item import ITEMS, Check, Item, Outcome, Setting, arrange, find
from ackclock.reproduce.papers import PAPERS, Paper

__all__ = ["ITEMS", "PAPERS", "Check", "Item", "Outcome", "Paper", "Setting", "find"]

papers.discover(__path__)
arrange()
