"""The site: built without a warning, every link leads somewhere, nothing is loaded from another host."""

from __future__ import annotations

import json
import re
import subprocess
import sys
from pathlib import Path
from urllib.parse import unquote, urlsplit

import lxml.html
import pytest

from dragoman.environment import is_installed

pytestmark = [
    pytest.mark.slow,
    pytest.mark.xdist_group("site"),
    pytest.mark.skipif(not is_installed("sphinx"), reason="needs dragoman[docs]"),
]
ROOT = Path(__file__).resolve().parents[2]


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("site")
    command = [
        sys.executable,
        "-m",
        "sphinx",
        "-q",
        "-W",
        "--keep-going",
        "-c",
        "docs/site",
        "-d",
        str(folder / "cache"),
    ]
    built = subprocess.run(
        [*command, ".", str(folder / "html")], cwd=ROOT, capture_output=True, text=True, timeout=1200, check=False
    )
    assert built.returncode == 0, built.stderr
    return folder / "html"


@pytest.fixture(scope="module")
def pages(site: Path) -> dict[Path, lxml.html.HtmlElement]:
    return {path: lxml.html.parse(str(path)).getroot() for path in site.rglob("*.html")}


def dead_links(pages: dict[Path, lxml.html.HtmlElement]) -> list[str]:
    """Links to files that do not exist, and to parts that a page does not have."""
    names = {path: {*page.xpath("//@id"), *page.xpath("//a/@name")} for path, page in pages.items()}
    found = []
    for path, page in pages.items():
        for link in {*page.xpath("//@href"), *page.xpath("//@src")}:
            parts = urlsplit(link)
            if parts.scheme or parts.netloc or link.startswith("#!"):
                continue
            target = (path.parent / unquote(parts.path)).resolve() if parts.path else path
            is_named = not parts.fragment or target not in names or unquote(parts.fragment) in names[target]
            if not target.exists() or not is_named:
                found.append(f"{path.name}: {link}")
    return found


def test_every_link_leads_somewhere(pages: dict[Path, lxml.html.HtmlElement]) -> None:
    assert len(pages) > 80
    assert dead_links(pages) == []


def test_dead_links_are_found(pages: dict[Path, lxml.html.HtmlElement], site: Path) -> None:
    page = lxml.html.fromstring('<p><a href="api.html#nothing">a</a><img src="none.png"><a href="api.html">b</a></p>')
    assert len(dead_links(pages | {site / "docs" / "new.html": page})) == 2


def test_nothing_is_loaded_from_another_host(pages: dict[Path, lxml.html.HtmlElement], site: Path) -> None:
    for path, page in pages.items():
        loaded = [*page.xpath("//script/@src"), *page.xpath("//img/@src"), *page.xpath("//link/@href")]
        assert not [link for link in loaded if urlsplit(link).netloc], path
    for path in site.rglob("*.css"):
        assert not re.search(r"url\([\"']?(https?:)?//", path.read_text(encoding="utf-8")), path


def test_chinese_pages_have_their_language_and_their_words_in_the_search(
    pages: dict[Path, lxml.html.HtmlElement], site: Path
) -> None:
    languages = {path.relative_to(site).as_posix(): page.get("lang") for path, page in pages.items()}
    assert languages["README.zh.html"] == languages["docs/zh/index.html"] == "zh-CN"
    assert languages["README.html"] == "en"
    index = (site / "searchindex.js").read_text(encoding="utf-8")
    terms = json.loads(index.removeprefix("Search.setIndex(").removesuffix(")"))["terms"]
    assert {"翻译", "翻", "attent"} <= set(terms)


def test_generated_pages_have_routes_and_names(pages: dict[Path, lxml.html.HtmlElement], site: Path) -> None:
    routes = json.loads((ROOT / "web" / "openapi.json").read_text(encoding="utf-8"))["paths"]
    text = pages[site / "docs" / "http-reference.html"].text_content()
    assert [route for route in routes if route not in text] == []
    names = set(pages[site / "docs" / "api.html"].xpath("//dt/@id"))
    assert {"dragoman.Translator.translate", "dragoman.evaluate", "dragoman.SearchSettings"} <= names
