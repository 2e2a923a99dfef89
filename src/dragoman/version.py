"""Version of this package, and the name under which package indexes have it."""

__all__ = ["DISTRIBUTION", "__version__"]

__version__ = "0.1.0"

DISTRIBUTION = "dragoman-nmt"  # the name in pyproject.toml; the module and the command are `dragoman`
