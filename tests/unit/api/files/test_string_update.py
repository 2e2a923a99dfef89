"""Incremental translation of files of strings: what is sent, what is written, and what must stay."""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from dragoman.api.files import document_translation, string_update
from dragoman.api.files.string_update import LOCK, MISSING, STALE, UNUSED, StringUpdate, UpdateOutcome
from dragoman.api.translation.markup import TranslatedMarkup
from dragoman.errors import ConfigError, DataError
from dragoman.files import write_json
from dragoman.markup.tagged_text import TaggedText
from tests.unit.documents.uppercase_translation import uppercased

FIRST = {
    "app": {"open": "Open file", "close": "Close {{name}}"},
    "n_one": "{{count}} file",
    "n_other": "{{count}} files",
}


class Project:
    """A project with a file of strings, and the texts that were sent to a model that translates to upper case."""

    def __init__(self, folder: Path, source: str, output: str) -> None:
        self.source, self.output, self.lock = folder / source, folder / output, folder / LOCK
        self.sent: list[str] = []
        self.lost: set[str] = set()  # texts that lose their placeholders
        self.opened = 0

    def markup(self, _: Any, segments: Sequence[TaggedText]) -> TranslatedMarkup:
        self.sent += [each.text for each in segments]
        damaged = {place: "lost" for place, each in enumerate(segments) if each.text in self.lost}
        new = [uppercased(each) for each in segments]
        return TranslatedMarkup([old if at in damaged else new[at] for at, old in enumerate(segments)], damaged)

    def _open(self) -> Any:
        self.opened += 1
        return SimpleNamespace(languages=("en", "de"))

    def run(self, **options: Any) -> list[str]:
        """Update, and return the texts that were sent."""
        self.sent.clear()
        self.outcome: UpdateOutcome = StringUpdate(self.source, self.output).update(self._open, **options)
        return sorted(self.sent)

    def check(self) -> dict[str, str]:
        return StringUpdate(self.source, self.output).check().found

    def write(self, value: Any) -> None:
        text = value if isinstance(value, str) else json.dumps(value, indent=2)
        self.source.write_text(text, encoding="utf-8", newline="")

    def edit(self, old: str, new: str) -> None:
        text = self.output.read_text(encoding="utf-8")
        assert old in text
        self.output.write_text(text.replace(old, new), encoding="utf-8", newline="")

    @property
    def text(self) -> str:
        return self.output.read_text(encoding="utf-8")

    @property
    def value(self) -> Any:
        return json.loads(self.text)


@pytest.fixture
def make(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Callable[..., Project]:
    def project(source: str = "en.json", output: str = "de.json", content: Any = FIRST) -> Project:
        made = Project(tmp_path, source, output)
        monkeypatch.setattr(document_translation, "translate_markup", made.markup)
        made.write(content)
        made.run()
        return made

    return project


def changed(**values: Any) -> dict[str, Any]:
    return FIRST | values


def test_only_new_and_changed_strings_are_sent(make: Callable[..., Project]):
    project = make()
    assert project.sent == ["Open file", "Close {{name}}", "1 file", "2 files"]
    before = project.output.stat(), project.lock.stat()
    assert (project.run(), project.opened, project.check()) == ([], 1, {})
    assert (project.output.stat(), project.lock.stat()) == before  # nothing is written
    project.write(
        changed(app={"new": "New file", "open": "Open files", "close": "Close {{name}}"}, end={"a": "The end"})
    )
    assert project.check() == {"app.new": "missing", "app.open": "changed", "end.a": "missing"}
    assert project.run() == ["New file", "Open files", "The end"]
    assert project.value == {
        "app": {"new": "NEW FILE", "open": "OPEN FILES", "close": "CLOSE {{name}}"},
        "n_one": "{{count}} FILE",
        "n_other": "{{count}} FILES",
        "end": {"a": "THE END"},
    }
    assert (project.check(), project.run()) == ({}, [])


def test_texts_of_people_stay(make: Callable[..., Project]):
    project = make()
    project.edit("OPEN FILE", "Datei öffnen")
    assert (project.run(), project.check()) == ([], {})
    project.write(changed(app={"open": "Open a file", "close": "Close {{name}}"}))
    assert project.check() == {"app.open": STALE}
    for _ in range(2):
        assert (project.run(), project.outcome.found) == ([], {"app.open": STALE})
        assert project.value["app"]["open"] == "Datei öffnen"
    project.edit("Datei öffnen", "Eine Datei öffnen")  # revised after it was listed
    assert (project.check(), project.run(), project.check()) == ({}, [], {})
    project.write(changed(app={"open": "Open one file", "close": "Close {{name}}"}))
    assert project.run(again=True) == ["Open one file"]
    assert project.value["app"]["open"] == "OPEN ONE FILE"


def test_an_edit_and_a_new_source_between_two_runs(make: Callable[..., Project]):
    project = make()
    project.edit("OPEN FILE", "Datei öffnen")
    project.write(changed(app={"open": "Open a file", "close": "Close {{name}}"}))
    assert (project.run(), project.check()) == ([], {"app.open": STALE})
    assert project.value["app"]["open"] == "Datei öffnen"


def test_a_translation_without_a_lock_file_is_that_of_people(make: Callable[..., Project]):
    project = make()
    project.lock.unlink()
    project.edit('"OPEN FILE"', '""')  # as tools write strings that are not translated
    project.write(changed(app={"open": "Open file", "close": "Close {{name}} now"}))
    assert project.check() == {"app.open": MISSING}
    assert (project.run(), project.value["app"]["close"]) == (["Open file"], "CLOSE {{name}}")


def test_removed_strings(make: Callable[..., Project]):
    project = make()
    project.edit("CLOSE", "Schließe")
    project.edit('"n_one"', '"own": "Eigener Text",\n  "n_one"')
    project.write({"n_one": "{{count}} file", "n_other": "{{count}} files"})
    assert project.check() == {"app.open": UNUSED, "app.close": UNUSED, "own": UNUSED}
    project.run()
    assert project.value["app"]["close"] == "Schließe {{name}}"  # a person's
    assert project.value["own"] == "Eigener Text"
    project.write({"n_one": "{{count}} file", "n_other": "{{count}} files", "z": "Last one"})
    project.run()
    assert [*project.value] == ["app", "own", "n_one", "n_other", "z"]
    project.write({"n_one": "{{count}} file", "n_other": "{{count}} files"})
    project.run()
    assert [*project.value] == ["app", "own", "n_one", "n_other"]  # its own text disappears
    assert project.run(force=True) == []
    assert project.value == {"n_one": "{{count}} FILE", "n_other": "{{count}} FILES"}


def test_a_renamed_first_string_of_a_level(make: Callable[..., Project]):
    project = make()
    project.write(changed(app={"launch": "Open file", "close": "Close {{name}}"}))
    assert project.run() == ["Open file"]
    assert project.value["app"] == {"launch": "OPEN FILE", "close": "CLOSE {{name}}"}


XML = (
    '<resources>\n  <string name="a">One</string>\n  <string name="b">Two</string>\n</resources>\n',
    """<resources>
  <!-- Notiz -->
  <string name="b">Zwei</string> <!-- b -->
  <string name="own">Eigen</string>
  <string name="a">ONE</string>
</resources>
""",
    """<resources>
  <string name="a">One more</string>
  <string name="b">Two</string>
  <!-- new -->
  <string name="c">Three</string>
  <plurals name="p"><item quantity="other">%d x</item></plurals>
</resources>
""",
    """<resources>
  <!-- Notiz -->
  <string name="b">Zwei</string> <!-- b -->
  <string name="own">Eigen</string>
  <string name="a">ONE MORE</string>
  <!-- new -->
  <string name="c">THREE</string>
  <plurals name="p"><item quantity="one">%d X</item><item quantity="other">%d X</item></plurals>
</resources>
""",
)
PHP = (
    "<?php\nreturn [\n  'a' => 'One',\n  'm' => [\n    'b' => 'Two',\n  ],\n];\n",
    "<?php\n// Notiz\nreturn [\n  'a' => 'ONE', // so\n  'm' => [\n    'b' => \"Zwei\", // b\n  ],\n];\n",
    "<?php\nreturn [\n  'a' => 'One',\n  'x' => 'New',\n  'm' => [\n    'b' => 'Two',\n    'c' => 'Three',\n  ],\n];",
    """<?php
// Notiz
return [
  'a' => 'ONE', // so
  'x' => 'NEW',
  'm' => [
    'b' => "Zwei", // b
    'c' => 'THREE',
  ],
];
""",
)
YAML = (
    "a: One\nmenu:\n  b: Two\n",
    "# Notiz\na: ONE # so\n# Abschnitt\nmenu:\n  b: 'Zwei' # b\n  own: Eigen\n",
    "a: One\nmenu:\n  first: First\n  b: Two\n  c: Three\nlast:\n  d: Four\n",
    """# Notiz
a: ONE # so
# Abschnitt
menu:
  first: FIRST
  b: 'Zwei' # b
  own: Eigen
  c: THREE
last:
  d: FOUR
""",
)
FILES: dict[str, tuple[str, str, str, str | None]] = {
    # a source, its translation as a person left it, the next source, and the translation after an update
    "strings.xml": XML,
    "a.php": PHP,
    "messages.en.yaml": YAML,
    "app.properties": (
        "a.b=One\nb=Two\n",
        "# Notiz\na.b = ONE\n\n! noch eine\nown=Eigen\nb: Zwei\n",
        "zero=Zero\na.b=One\na.c=New\nb=Two\nd=Four\n",
        "zero=ZERO\n# Notiz\na.b = ONE\na.c=NEW\n\n! noch eine\nown=Eigen\nb: Zwei\nd=FOUR\n",
    ),
    "a.strings": (
        '"a" = "One";\n"b" = "Two";\n',
        '/* Notiz */\n"a" = "ONE"; // so\n"own" = "Eigen";\n"b" = "Zwei";\n',
        '"a" = "One";\n"c" = "Three";\n"b" = "Two";\n"d" = "Four";\n',
        '/* Notiz */\n"a" = "ONE"; // so\n"c" = "THREE";\n"own" = "Eigen";\n"b" = "Zwei";\n"d" = "FOUR";\n',
    ),
    "a.ftl": (
        "a = One\nb = Two\n",
        "# Notiz\na = ONE\n# zwei\nb = Zwei\n",
        "a = One\nc = Three\n    .title = Tip\nb = Two\n",
        "# Notiz\na = ONE\nc = THREE\n    .title = TIP\n# zwei\nb = Zwei\n",
    ),
    "a.resx": (
        '<root>\n<data name="a"><value>One</value></data>\n</root>\n',
        '<root>\n<!-- Notiz -->\n<data name="a"><value>ONE</value><comment>so</comment></data>\n</root>\n',
        '<root>\n<data name="a"><value>One</value></data>\n<data name="b"><value>Two</value></data>\n</root>\n',
        None,
    ),
    "a.arb": (
        '{"@@locale": "en", "a": "One {n}", "@a": {"description": "x"}}',
        '{"@@locale": "de_AT", "a": "Eins {n}", "@a": {"description": "meine"}}',
        '{"@@locale": "en", "a": "One {n}", "@a": {"description": "x"}, "b": "Two words"}',
        None,
    ),
}
OWN = ("Notiz", "noch eine", "Abschnitt", "Eigen", "Zwei", "meine", "de_AT", "so", "# zwei")


@pytest.mark.parametrize("name", FILES)
def test_comments_order_and_other_strings_stay(name: str, make: Callable[..., Project]):
    first, edited, second, expected = FILES[name]
    project = make(name, f"de-{name}".replace(".en.", ".de."), first)
    project.output.write_text(edited, encoding="utf-8", newline="")
    project.write(second)
    missing = {key for key, state in project.check().items() if state == MISSING}
    assert missing
    project.run()
    print(project.text)
    assert set(project.check().values()) <= {UNUSED}
    if expected is not None:
        assert project.text == expected
    for own in OWN:
        assert edited.count(own) <= project.text.count(own)
    done = project.text
    assert (project.run(), project.text) == ([], done)


@pytest.mark.parametrize("steps", range(4))
def test_a_kill_at_any_write(steps: int, make: Callable[..., Project], monkeypatch: pytest.MonkeyPatch):
    project = make()
    project.edit("CLOSE", "Schließe")
    project.write(changed(app={"open": "Open files", "close": "Close {{name}}", "new": "New file"}))
    done = 0

    def stopping(write: Callable[..., None]) -> Callable[..., None]:
        def stopped(*arguments: Any) -> None:
            nonlocal done
            if done == steps:
                raise KeyboardInterrupt
            done += 1
            write(*arguments)

        return stopped

    with monkeypatch.context() as patched:
        patched.setattr(string_update, "write_json", stopping(write_json))
        patched.setattr(StringUpdate, "_write", stopping(StringUpdate._write))
        if steps < 3:
            with pytest.raises(KeyboardInterrupt):
                project.run()
        else:
            project.run()
    states = {"app.open": "changed", "app.new": "missing"} if steps < 2 else {}
    assert project.check() == states
    project.run()
    assert project.value["app"] == {"open": "OPEN FILES", "close": "Schließe {{name}}", "new": "NEW FILE"}
    project.write(changed(app={"open": "Open", "close": "Close {{name}}", "new": "New"}))
    assert project.check() == {"app.open": "changed", "app.new": "changed"}  # not taken for texts of a person
    assert not [*project.lock.parent.glob("*.tmp")]
    assert "pending" not in project.lock.read_text(encoding="utf-8")


@pytest.mark.parametrize(
    "content",
    [
        "<<<<<<< HEAD\n{}",
        "[1]",
        '{"version": 2, "files": {}}',
        '{"version": 1, "files": {"de.json": {"language": "de", "strings": {"a": "x"}}}}',
        '{"version": 1, "files": {"de.json": {"language": "de", "strings": ["a"]}}}',
        '{"version": 1, "files": [], "pending": 3}',
    ],
)
def test_a_broken_lock_file_changes_nothing(content: str, make: Callable[..., Project]):
    project = make()
    before = project.text
    project.lock.write_text(content, encoding="utf-8")
    project.write(changed(z="New text"))
    with pytest.raises(DataError, match=r"dragoman\.lock (is no lock file|must be valid JSON)"):
        project.run()
    assert (project.text, project.lock.read_text(encoding="utf-8")) == (before, content)


def test_a_text_that_lost_its_placeholders_is_tried_again(make: Callable[..., Project]):
    project = make()
    project.lost = {"Dear {{name}}", "Close {{name}} now"}
    project.write(changed(app={"open": "Open file", "close": "Close {{name}} now"}, a="Dear {{name}}"))
    assert project.run() == ["Close {{name}} now", "Dear {{name}}"]
    assert (project.value["app"]["close"], project.value["a"]) == ("CLOSE {{name}}", "Dear {{name}}")
    assert project.check() == {"app.close": "changed", "a": MISSING}
    project.lost = set()
    assert project.run() == ["Close {{name}} now", "Dear {{name}}"]
    assert (project.value["app"]["close"], project.check()) == ("CLOSE {{name}} NOW", {})


def test_a_lock_file_above_is_used(make: Callable[..., Project], monkeypatch: pytest.MonkeyPatch):
    project = make()
    monkeypatch.chdir(project.lock.parent)
    project.output = project.lock.parent / "values-de" / "de.json"
    assert len(project.run()) == 4
    assert [*json.loads(project.lock.read_text(encoding="utf-8"))["files"]] == ["de.json", "values-de/de.json"]
    assert not (project.output.parent / LOCK).exists()


def test_files_that_cannot_be_updated(make: Callable[..., Project], tmp_path: Path):
    project = make()
    with pytest.raises(ConfigError, match="is the input"):
        StringUpdate(project.source, project.source)
    (tmp_path / "a.po").write_text('msgid "Hello"\nmsgstr ""\n', encoding="utf-8")
    with pytest.raises(ConfigError, match="--update is for files of strings"):
        StringUpdate(tmp_path / "a.po", tmp_path / "b.po")
    project.edit('"n_one"', '"n_one": "x", "n_one"')
    with pytest.raises(DataError, match="must have every key once"):
        project.run()


def test_an_indent_of_the_file_is_that_of_new_strings(make: Callable[..., Project]):
    project = make("en.yaml", "de.yaml", "en:\n  a: One\n  b: Two\n")
    project.output.write_text("de:\n    a: ONE # so\n    b: TWO\n", encoding="utf-8")
    project.write("en:\n  a: One\n  a2: New\n  b: Two\n  c: Three\n  d: Four\n")
    project.run()
    assert project.text == "de:\n    a: ONE # so\n    a2: NEW\n    b: TWO\n    c: THREE\n    d: FOUR\n"


def test_a_file_that_differs_too_much(make: Callable[..., Project]):
    project = make("en.yaml", "de.yaml", "en:\n  m:\n    a: One\n")
    project.output.write_text("de:\n      m:\n          a: ONE\n", encoding="utf-8")
    project.write("en:\n  m:\n    a: One\n  n:\n    c: Three\n")
    before = project.text, project.lock.read_text(encoding="utf-8")
    with pytest.raises(DataError, match="differs too much"):
        project.run()
    assert (project.text, project.lock.read_text(encoding="utf-8")) == before
    project.run(force=True)
    assert project.text == "de:\n  m:\n    a: ONE\n  n:\n    c: THREE\n"


def test_of_1000_strings_the_40_new_and_changed_ones_are_sent(make: Callable[..., Project]):
    names = [f"s{number // 50}.k{number}" for number in range(1_000)]

    def nested(texts: dict[str, str]) -> dict[str, dict[str, str]]:
        return {
            section: {key: text for key, text in texts.items() if key.startswith(f"{section}.")} for section in sections
        }

    sections = dict.fromkeys(name.partition(".")[0] for name in names)
    texts = {name: f"Text of {name}" for name in names}
    project = make(content=nested(texts))
    assert len(project.sent) == 1_000
    before = project.value
    second = {}
    for number, (name, text) in enumerate(texts.items()):
        second[name] = f"Other {text}" if number % 50 == 0 else text
        if number % 50 == 13:
            second[f"{name}new"] = f"New {text}"
    project.write(nested(second))
    assert len(project.run()) == 40
    assert all(text.startswith(("Other", "New")) for text in project.sent)
    after = project.value
    assert [[*after[section]] for section in sections] == [[*nested(second)[section]] for section in sections]
    same = [
        (section, key) for section in before for key in before[section] if after[section][key] == before[section][key]
    ]
    assert len(same) == 980
