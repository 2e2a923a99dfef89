"""LaTeX: prose is translated; commands, formulas, listings, tables, labels and comments stay."""

import pytest

from dragoman.documents.document import reader_notes
from dragoman.documents.formats import read_document
from dragoman.errors import DataError
from dragoman.markup.tagged_text import TaggedText
from tests.unit.documents.uppercase_translation import reworded, texts, translated

TEX = r"""\documentclass[a4paper]{article}
\title{A short Title}
\author{A name} % of the author
\newcommand{\kept}{never}
\begin{document}
\maketitle
\section{The \emph{first} part}\label{sec:one}
As shown in~\cite[p.~3]{knuth} and Figure~\ref{fig}, it is $a < b$ or 50\,\% of
``all things'' --- see \href{https://example.org}{the page} or \url{https://example.org/a_b}.
% a comment
Code is \verb|x_y| or \texttt{kept}; na\"{\i}ve caf\'e\footnote{With a note.}.

\begin{itemize}
  \item First thing
  \item[Second] thing
\end{itemize}
\begin{equation}
  e = mc^2
\end{equation}
Words \[ x = y \] after it.
\begin{verbatim}
kept \emph{text}
\end{verbatim}
\begin{figure}[ht]
  \centering
  \includegraphics[width=3cm]{picture}
  \caption[Short]{The caption}
\end{figure}
\begin{tabular}{ll} kept & table \\ \end{tabular}
{\bf Bold words} end it.
\end{document}
After the end.
"""
WRITTEN = [
    ("A short Title", "A SHORT TITLE"),
    (r"The \emph{first} part", r"THE \emph{FIRST} PART"),
    ("As shown in", "AS SHOWN IN"),
    (" and Figure", " AND FIGURE"),
    ("it is", "IT IS"),
    (" or 50\\,\\% of", " OR 50\\,\\% OF"),
    ("``all things'' --- see", "``ALL THINGS'' --- SEE"),
    ("the page} or", "THE PAGE} OR"),
    ("Code is", "CODE IS"),
    ("| or ", "| OR "),
    (r"na\"{\i}ve caf\'e\footnote{With a note.}", "NA\u00cfVE CAF\u00c9\\footnote{WITH A NOTE.}"),
    ("First thing", "FIRST THING"),
    ("] thing", "] THING"),
    ("Words", "WORDS"),
    ("after it.", "AFTER IT."),
    ("The caption", "THE CAPTION"),
    ("Bold words} end it.", "BOLD WORDS} END IT."),
]


def test_prose_is_translated_and_nothing_else():
    expected = TEX
    for old, new in WRITTEN:
        assert old in expected
        expected = expected.replace(old, new, 1)
    assert translated("a.tex", TEX.encode()).decode().split() == expected.split()  # lines are balanced
    assert "First thing" in texts(read_document("a.tex", TEX.encode()))


@pytest.mark.parametrize("end", ["\n", "\r\n"])
def test_without_a_change_the_file_is_the_same(end: str):
    data = TEX.replace("\n", end).encode()
    copies = [TaggedText(each.text, each.spans, each.kept) for each in read_document("a.tex", data).segments]
    assert reworded("a.tex", data, copies) == data


@pytest.mark.parametrize(
    ("text", "written"),
    [
        ("50 % & #1_{a} $5 ~ ^ \\", r"50 \% \& \#1\_\{a\} \$5 \textasciitilde{} \textasciicircum{} \textbackslash{}"),
        ("\u201eA\u201c \u2013 B\u00a0C", "\u201eA`` -- B~C"),
    ],
)
def test_special_characters_are_escaped(text: str, written: str):
    data = "\\section{A}\nSome words\n"
    first, _ = read_document("a.tex", data.encode()).segments
    assert reworded("a.tex", data.encode(), [first, TaggedText(text)]).decode() == f"\\section{{A}}\n{written}\n"


def test_a_translation_that_loses_notation_is_not_written():
    data = b"\\section{A}\nSome $x$ words\n"
    first, _ = read_document("a.tex", data).segments
    assert reworded("a.tex", data, [first, TaggedText("Worte")]) == data


def test_what_is_not_understood_stays_and_is_named():
    document = read_document("a.tex", b"\\section{Words}\n\nOpen \\emph{brace\n\nOther words\n")
    assert texts(document) == ["Words", "Other words"]
    assert reader_notes(document) == ["a.tex: 1 paragraph with notation that is not understood left"]


def test_other_files_are_refused():
    with pytest.raises(DataError, match="no commands of LaTeX"):
        read_document("a.tex", b"Plain words")


@pytest.mark.parametrize("command", [r"\cref{thm:omg}\ref{item:omg4}", r"\id[{\id[A]{a}{b}}]{p}{q}"])
def test_adjacent_and_nested_commands_stay(command: str):
    data = rf"By {command} it is so.".encode()
    assert translated("a.tex", data) == rf"BY {command} IT IS SO.".encode()
