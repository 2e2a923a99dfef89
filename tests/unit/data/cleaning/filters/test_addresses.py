import polars as pl
import pytest

from dragoman.data.cleaning.filters.addresses import differing_addresses, remove_addresses
from tests.unit.data.cleaning.pairs import drops, frame


@pytest.mark.parametrize(
    ("source", "target", "expected"),
    [
        ("See http://a.org/x.", "Siehe http://a.org/x", False),
        ("See http://a.org/x.", "见http://a.org/x。", False),
        ("See HTTP://A.org", "Siehe http://a.org/", False),
        ("See http://www.a.org", "Siehe www.a.org", False),
        ("See http://a.org/x", "Siehe http://a.org/y", True),
        ("See http://a.org/x", "Siehe dort", True),
        ("Write to me@a.com, now", "Schreib an me@a.com", False),
        ("Write to me@a.com", "Schreib an dich@a.com", True),
        ("Use @property here", "Hier @eigenschaft", False),
        ("a@b", "a at b", False),
        ("(http://a.org)", "（http://a.org）", False),
        ("See http://a.org's page", "Siehe http://a.org", False),
        ("See http://a.org'", "http://a.org'un sayfası", False),
        ("See http://a.org/wiki/Schindler's_List", "Siehe http://a.org/wiki/Schindler's_Liste", True),
        ("See http://a.org/wiki/Gr%C3%B6%C3%9Fe", "Siehe http://a.org/wiki/Größe", False),
        ("See http://a.org/wiki/%E4%B8%AD%E6%96%87", "见 http://a.org/wiki/中文", False),
        ("See http://a.org/a%28b%29c", "Siehe http://a.org/a(b)c", False),
        ("See http://a.org/Gr%C3%B6%C3%9Fe", "Siehe http://a.org/Hand", True),
        ("", "", False),
    ],
)
def test_addresses(source: str, target: str, expected: bool):
    assert drops(differing_addresses, source, target) is expected
    assert drops(differing_addresses, target, source) is expected


def test_addresses_are_taken_out():
    text = "See HTTP://A.org/x?y=1, www.b.org or me@c.com; not @d."
    left = frame([(text, "")]).select(remove_addresses(pl.col("source"))).item()
    assert left.split() == ["See", "or", ";", "not", "@d."]
