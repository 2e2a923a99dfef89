"""Simplified and traditional Chinese differ in their characters."""

import pytest

from dragoman.text.chinese_script import chinese_script


@pytest.mark.parametrize(
    ("text", "script"),
    [
        ("两只狗在雪地里玩耍。", "Hans"),
        ("兩隻狗在雪地裡玩耍。", "Hant"),
        ("他说：“我们明天去图书馆。”", "Hans"),
        ("他說：「我們明天去圖書館。」", "Hant"),
        ("人大小", "Hans"),
        ("", "Hans"),
    ],
)
def test_scripts(text: str, script: str):
    assert chinese_script(text) == script
