"""What a corpus is like before anything is learnt from it: one report, for a screen, a script or a page."""

__all__: list[str] = []
