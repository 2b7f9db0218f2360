"""Whole numbers as values of options."""

from __future__ import annotations

import click

MANY = 10**9
"""A largest value from which it is not worth a word."""


class Whole(click.IntRange):
    """A whole number within limits, which help texts and errors put in words."""

    name = "whole number"

    def get_metavar(self, param: click.Parameter, ctx: click.Context) -> str:
        """What stands for it in help texts."""
        return "N"

    def _describe_range(self) -> str:
        return f"{self.min} or more" if self.max is None or self.max >= MANY else f"{self.min} to {self.max}"
