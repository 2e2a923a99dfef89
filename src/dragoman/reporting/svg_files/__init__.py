"""Figures of Markdown pages: SVG files that contain their own style, because pages show them as images."""

__all__: list[str] = []
