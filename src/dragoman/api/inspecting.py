"""A translation, opened: where the model looked, what it weighed at each step, and what else it might have said.

::

    translator = Translator.open("bundle", engine="torch")
    inspected = inspect(translator, "A man is sleeping.")
    inspected.predicted[inspected.default_layer].mean(0)    # [target words + 1, source words + 1]

Pieces are spelt as tokenizers spell them: ``▁`` is the space before a word, and ``</s>`` the end.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from dragoman.api.decoding_steps import step_candidates, step_log_probs, stepping
from dragoman.api.ensemble import in_common
from dragoman.api.parts import Part
from dragoman.api.target import Target
from dragoman.api.translation import Translation
from dragoman.api.translator import Translator
from dragoman.api.what_ifs import Progress, searched, turns
from dragoman.api.word_alignment import replace_unknown
from dragoman.config import Config
from dragoman.engines.protocol import Attentive
from dragoman.engines.stepping import SteppingEngine
from dragoman.errors import ConfigError, DataError
from dragoman.inspection.inspected import Inspected, TreeNode, WhatIf
from dragoman.search.protocol import Floats
from dragoman.search.trace import Node
from dragoman.text import EOS_ID, SPECIALS, Normalizer, Tokenizer, merge_alignment, piece_words
from dragoman.text.characters import has_letters
from dragoman.text.sentences import split_text
from dragoman.text.words import WordMap

__all__ = ["inspect", "inspect_text", "map_counts"]

_CANDIDATES = 8  # shown of each step
_END = SPECIALS[EOS_ID]


def inspect(
    translator: Translator,
    text: str,
    *,
    target: str | None = None,
    prefix: str = "",
    what_ifs: int = 3,
    at: str | None = None,
    tree: bool = True,
    progress: Progress | None = None,
) -> Inspected:
    """Open the translation of one sentence, or with `target` one that is given; `prefix` is what it must begin with.

    Needs an engine whose every step is open; of torch every layer and head is shown, of others, and of an ensemble, one
    map. At each word `what_ifs` others are tried, with `at` only where that word stands. A translation that is given or
    drawn at random has no search tree. `progress` is told how many of how many other words have been tried.
    """
    looked = _Inspector(translator, what_ifs, at, progress)
    if target is not None:
        if prefix:
            raise ConfigError("prefix must be left out where a translation is given, got both; drop one of them")
        return looked.given(text, target)
    found = looked.translated(text, prefix, tree=tree)
    if len(found) > 1:
        raise DataError(
            f"a sentence must be short enough to be translated at once, got one that was cut into {len(found)}; split "
            "it, or use inspect_text"
        )
    return found[0]


def inspect_text(
    translator: Translator,
    text: str,
    *,
    prefix: str = "",
    what_ifs: int = 3,
    at: str | None = None,
    tree: bool = True,
    progress: Progress | None = None,
    left_out: Callable[[str], None] | None = None,
) -> list[Inspected]:
    """Open the translations of all sentences of a text; `prefix` is what the first must begin with.

    Sentences without letters are left out; `left_out` is told each. Other options are those of `inspect`.
    """
    looked = _Inspector(translator, what_ifs, at, progress)
    sentences = [each for each, _ in split_text(text, translator.languages[0] or "en") if each.strip()]
    opened = [each for each in sentences if has_letters(each)]
    if opened and left_out is not None:
        for each in sentences:
            if not has_letters(each):
                left_out(each)
    found: list[Inspected] = []
    for each in opened or [text]:
        found += looked.translated(each, prefix, tree=tree)
        prefix = ""
    return found


def map_counts(translator: Translator) -> tuple[int, int]:
    """How many layers there are to show, and how many heads each has; 0 and 0 without attention."""
    looked = _Inspector(translator, 0, None)
    layers, heads = _maps(looked.engine, _Sides(looked.part("a"), [], [], [])).shape[:2]
    return layers, heads


@dataclass(frozen=True)
class _Sides:
    """A pair as pieces: what the model read and wrote, and how that stands in the texts, unknown words among it."""

    part: Part
    target: list[int]
    source_shown: list[str]
    target_shown: list[str]

    @property
    def source(self) -> list[int]:
        return self.part.ids or []


class _Inspector:
    """A translator with its sides: what is read, and what is written."""

    def __init__(self, translator: Translator, what_ifs: int, at: str | None, progress: Progress | None = None) -> None:
        if what_ifs < 0:
            raise ConfigError(f"what_ifs must be at least 0, got {what_ifs}; 0 tries no other word")
        if not translator.bundles:
            raise ConfigError(
                "a translator must be opened from a bundle to be inspected, got one that was not; open it"
            )
        config, tokenizers = in_common(translator.bundles)
        self.translator, self.engine = translator, stepping(translator.engine)
        self.normalize = Normalizer(form=config.tokenizer.normal_form)
        self.source: Tokenizer = tokenizers["source"]
        self.target = Target(tokenizers["target"], self.normalize, tokenizers["source"])
        self.what_ifs, self.at, self.progress = what_ifs, at, progress
        self.model = _model(translator, config)

    def given(self, text: str, target: str) -> Inspected:
        """A translation that somebody else wrote."""
        (scored,) = self.translator.score([text], [target], flags=True)
        written = self.target.read(target)
        part = self.part(text)
        sides = _Sides(part, written.ids, self.source.pieces(part.normal), written.pieces)
        return self._inspected(scored, sides)

    def translated(self, text: str, prefix: str, *, tree: bool) -> list[Inspected]:
        """The translation of a sentence; several where it is too long to be translated at once."""
        if not has_letters(text):
            raise DataError(f"a text must hold letters to be translated, got {text[:60]!r}; give it a word")
        has_tree = tree and not self.translator.settings.sample
        found = self.translator.translate(text, split=False, prefix=prefix, flags=True, tree=has_tree, nbest=1)
        return [self._inspected(each, self._sides(each)) for each in found.sentences or (found,)]

    def part(self, text: str) -> Part:
        """A text as the model reads it."""
        normal = self.normalize(text)
        return Part(text, "", normal, self.source.encode(normal))

    def _sides(self, found: Translation) -> _Sides:
        part = self.part(found.source)
        tokenizer = self.target.tokenizer
        ids = [tokenizer.piece_to_id(piece) for piece in found.pieces]
        shown, surfaces = list(found.pieces), self.source.pieces(part.normal)
        if tokenizer.unk_id in ids:
            weights = self.engine.score([part.ids or []], [ids], show=True)[0].alignment
            if weights is not None:
                shown = replace_unknown(shown, surfaces, weights, marks_words=tokenizer.kind == "word")
        return _Sides(part, ids, surfaces, shown)

    def _inspected(self, found: Translation, sides: _Sides) -> Inspected:
        log_probs = step_log_probs(self.engine, sides.source, sides.target)
        words = piece_words(sides.target_shown)
        source_words = piece_words([*sides.source_shown, _END])
        maps = _maps(self.engine, sides)
        target_words = piece_words([*sides.target_shown, _END])
        return Inspected(
            source=found.source,
            translation=found.text,
            source_words=source_words.words[:-1],
            target_words=words.words,
            pieces=tuple(map(self.target.tokenizer.id_to_piece, sides.target)),
            piece_words=words.word_of,
            candidates=step_candidates(log_probs, sides.target, self.target.tokenizer, _CANDIDATES),
            predicted=merge_alignment(maps, source_words, target_words),
            given=merge_alignment(maps[..., 1:, :], source_words, words),
            steps=merge_alignment(maps, source_words, _each_alone(len(sides.target) + 1)),
            default_layer=max(maps.shape[0] - 2, 0),
            score=found.log_prob / max(1, len(sides.target) + (not found.is_truncated)),
            tree=self._tree(found.tree or (), sides.target),
            what_ifs=self._what_ifs(sides, log_probs),
            flags=tuple(f"{flag.name}: {flag.detail}" for flag in found.flags or ()),
            model=self.model,
        )

    def _what_ifs(self, sides: _Sides, log_probs: Floats) -> tuple[WhatIf, ...]:
        if not self.what_ifs:
            return ()
        tokenizer = self.target.tokenizer
        found = list(turns(sides.target, sides.target_shown, log_probs, tokenizer, self.what_ifs, self.at))
        tell = self.progress or (lambda done, count: None)
        return searched(
            self.engine, self.translator.settings, sides.part, sides.target, log_probs, found, self.target, tell
        )

    def _tree(self, nodes: Sequence[Node], target: Sequence[int]) -> tuple[TreeNode, ...]:
        best = _best_path(nodes, target)
        return tuple(
            TreeNode(
                node.parent,
                self.target.tokenizer.id_to_piece(node.piece),
                node.step,
                node.rank,
                node.log_prob,
                node.is_end,
                number in best,
            )
            for number, node in enumerate(nodes)
        )


def _maps(engine: SteppingEngine, sides: _Sides) -> NDArray[np.float32]:
    """All maps there are. Shapes: -> [layers, heads, tgt + 1, src + 1], without layers where there is no attention."""
    if isinstance(engine, Attentive):
        (maps,) = engine.attention([sides.source], [sides.target])
    else:
        one = engine.score([sides.source], [sides.target], show=True)[0].alignment
        maps = None if one is None else one[np.newaxis, np.newaxis]
    if maps is None:
        return np.zeros((0, 0, len(sides.target) + 1, len(sides.source) + 1), np.float32)
    return maps


def _each_alone(pieces: int) -> WordMap:
    """Every piece as a word of its own."""
    places = tuple(range(pieces))
    spans = tuple((place, place + 1) for place in places)
    return WordMap(("",) * pieces, places, spans, spans, (False,) * pieces)


def _best_path(nodes: Sequence[Node], target: Sequence[int]) -> set[int]:
    """The numbers of the nodes that spell a translation, its end among them if it has one.

    Groups of a beam may have written the same twice: the first that came to its end counts.
    """
    spells: list[bool] = []
    last = -1
    for number, node in enumerate(nodes):
        follows = node.parent < 0 or spells[node.parent]
        is_next = node.piece == (*target, EOS_ID)[node.step] if node.step <= len(target) else False
        spells.append(follows and is_next)
        if spells[-1] and (last < 0 or node.step > nodes[last].step):
            last = number
    path: set[int] = set()
    while last >= 0:
        path.add(last)
        last = nodes[last].parent
    return path


def _model(translator: Translator, config: Config) -> str:
    """What translates, in a line."""
    settings, engine = translator.settings, translator.engine
    sizes = [bundle.manifest["files"]["weights.safetensors"]["size"] for bundle in translator.bundles]
    family = config.model.family if len(sizes) == 1 else f"ensemble of {len(sizes)}"
    search = "sampling" if settings.sample else f"beam {settings.beam}" if settings.beam > 1 else "greedy"
    return f"{family}, {sum(sizes) / 1e6:.1f} MB, {engine.name} {engine.precision}, {search}"
