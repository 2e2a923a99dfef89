"""``python -m dragoman`` is the ``dragoman`` command."""

from dragoman.cli.main import main

main()
