"""Version of this package, and the name of its distribution."""

__version__ = "0.1.0"

DISTRIBUTION = "dragoman-nmt"  # the name in pyproject.toml; the module and the command are `dragoman`
