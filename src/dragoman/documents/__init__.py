"""Files whose text is translated and whose layout stays: each format reads text out, and puts translations back in."""

__all__: list[str] = []
