"""`python -m ackclock`: the command line."""

from ackclock.cli import main

main()
