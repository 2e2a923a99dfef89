"""The frame of a page that needs nothing else: no network, no fonts but the reader's own, no script but ours."""

from __future__ import annotations

import base64
import hashlib

from dragoman.data.check.markup import plain, shown

__all__ = ["html_page"]


def html_page(title: str, body: str, *, style: str, footer: str, script: str = "") -> str:
    """A whole page, to be written as UTF-8. `body` and `footer` are finished HTML, `title` is plain text.

    Should some text slip into the body as markup after all, a browser still runs nothing but `script`, and loads
    nothing.
    """
    digest = base64.b64encode(hashlib.sha256(script.encode()).digest()).decode()
    scripts = f"script-src 'sha256-{digest}'; " if script else ""
    policy = f"default-src 'none'; style-src 'unsafe-inline'; {scripts}base-uri 'none'; form-action 'none'"
    return (
        '<!DOCTYPE html>\n<html lang="en">\n<head>\n<meta charset="utf-8">\n'
        f'<meta http-equiv="Content-Security-Policy" content="{policy}">\n'
        '<meta name="viewport" content="width=device-width, initial-scale=1">\n'
        f"<title>{plain(title)}</title>\n<style>{style}</style>\n</head>\n<body>\n<main>\n"
        f"<h1>{shown(title)}</h1>\n{body}\n</main>\n<footer>{footer}</footer>\n"
        f"{f'<script>{script}</script>' if script else ''}\n</body>\n</html>\n"
    )
