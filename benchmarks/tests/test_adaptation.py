"""The split of messages has no similar messages in two sets, and placeholders are counted."""

import itertools

from benchmarks.adaptation.__main__ import kept_placeholders
from benchmarks.adaptation.split import similarity_groups, split, words_of

PAIRS = [
    ("A class cannot extend '{0}'.", "Uma classe não pode estender '{0}'."),
    ("A class cannot extend type '{0}'.", "Uma classe não pode estender o tipo '{0}'."),
    ("A class cannot extend type '{0}' here.", "Isto é outra coisa: '{0}'."),
    ("File not found.", "Arquivo não encontrado."),
    ("{0}", "{0}"),
    ("'{1}'", "'{1}'"),
    *((f"Message about the topic{n} of part{n}", f"Mensagem sobre o assunto{n} da parte{n}") for n in range(40)),
]


def test_quoted_code_and_placeholders_are_not_compared():
    assert words_of("Type '{0}' is not `x`: {1} <T>.") == {"type", "is", "not"}


def test_similar_messages_are_in_one_group_also_through_others():
    groups = similarity_groups(PAIRS)
    assert [0, 1, 2] in groups
    assert [3] in groups
    assert [4, 5] in groups
    assert sorted(itertools.chain.from_iterable(groups)) == list(range(len(PAIRS)))


def test_no_message_of_a_held_out_set_resembles_another_set():
    sets = split(PAIRS, test=8, validation=4)
    assert sorted(itertools.chain.from_iterable(sets.values())) == list(range(len(PAIRS)))
    assert len(sets["test"]) >= 8
    assert len(sets["validation"]) >= 4
    for group in similarity_groups(PAIRS):
        assert sum(bool(set(group) & set(rows)) for rows in sets.values()) == 1
    assert split(PAIRS, test=8, validation=4) == sets, "the same split each time"


def test_placeholders_are_counted_as_often_as_they_occur():
    assert kept_placeholders(["{0} and {0}, {1}", "none"], ["{0} e {1} {2}", "{3}"]) == (2, 3)
