"""An example of a package that adds parts to Dragoman by entry points."""
