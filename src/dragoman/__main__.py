"""Run the `dragoman` command with ``python -m dragoman``."""

from dragoman.cli.main import main

main()
