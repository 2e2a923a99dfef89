"""Names of variants, searches and conditions of probes in tables and figures, in English and Chinese."""

from __future__ import annotations

from dataclasses import dataclass, field

from claims.ledger.claim import Claim, ReportLanguage, Term
from claims.report.phrases import Phrases

_LONGEST = 1000  # words; a range up to here has no upper end

Names = dict[ReportLanguage, str]


@dataclass(frozen=True)
class ProbeNames:
    """What a probe measures, and the names of its conditions.

    A condition is a sequence of words, such as ``global 32``. Its last word may be a size.
    """

    unit: Names
    size: Names = field(default_factory=dict)
    """The size with its number, such as "{number} source words"."""
    size_axis: Names = field(default_factory=dict)
    """The size as the title of an axis."""
    words: dict[str, Names] = field(default_factory=dict)
    drawn: tuple[str, ...] = ()
    """Conditions of the chart, without their sizes; all by default."""


_CELLS: dict[str, Names] = {
    "rnn": {"en": "plain cell", "zh": "普通单元"},
    "rnn-large": {"en": "plain cell with large weights", "zh": "权重较大的普通单元"},
    "gru-fused": {"en": "fused GRU", "zh": "融合 GRU"},
    "gru-published": {"en": "published GRU", "zh": "论文中的 GRU"},
    "lstm": {"en": "LSTM", "zh": "LSTM"},
}
_MODELS: dict[str, Names] = {
    "rnn": {"en": "recurrent model", "zh": "循环模型"},
    "rnn-feeding": {"en": "recurrent model with input feeding", "zh": "有 input feeding 的循环模型"},
    "transformer": {"en": "Transformer", "zh": "Transformer"},
    "no-positions": {"en": "Transformer without positions", "zh": "没有位置编码的 Transformer"},
}
_ATTENTION: dict[str, Names] = {
    "soft": {"en": "soft attention", "zh": "软注意力"},
    "hard": {"en": "hard attention", "zh": "硬注意力"},
    "none": {"en": "no attention", "zh": "没有注意力"},
}
_SOURCE_WORDS: Names = {"en": "{number} source words", "zh": "{number} 个源词"}

_PROBES: dict[str, ProbeNames] = {
    "attention-step": ProbeNames(
        {"en": "CPU seconds per decoding step", "zh": "每个解码步的 CPU 秒数"},
        _SOURCE_WORDS,
        {"en": "source words", "zh": "源词数"},
        {
            "global": {"en": "global", "zh": "全局"},
            "local-m": {"en": "local-m", "zh": "local-m"},
            "local-p": {"en": "local-p", "zh": "local-p"},
        },
    ),
    "head-cost": ProbeNames(
        {"en": "CPU seconds per pass", "zh": "每次计算的 CPU 秒数"},
        {"en": "heads: {number}", "zh": "头数：{number}"},
        {"en": "heads", "zh": "头数"},
    ),
    "softmax-gradient": ProbeNames(
        {"en": "gradient norm", "zh": "梯度范数"},
        {"en": "d_k = {number}", "zh": "d_k = {number}"},
        {"en": "d_k", "zh": "d_k"},
        {"scaled": {"en": "scaled", "zh": "缩放"}, "unscaled": {"en": "unscaled", "zh": "不缩放"}},
    ),
    "training-throughput": ProbeNames(
        {"en": "CPU seconds for the same number of tokens", "zh": "同样多词元的 CPU 秒数"},
        {"en": "sentences of {number} words", "zh": "{number} 词的句子"},
        {"en": "words per sentence", "zh": "每句词数"},
        _MODELS,
    ),
    "cell-speed": ProbeNames({"en": "CPU seconds per pass", "zh": "每次计算的 CPU 秒数"}, words=_CELLS),
    "clipping-rates": ProbeNames(
        {"en": "share of right answers", "zh": "正确答案的份额"},
        {"en": "learning rate {number} / 1000", "zh": "学习率 {number} / 1000"},
        {"en": "learning rate × 1000", "zh": "学习率 × 1000"},
        {"clipped": {"en": "clipped", "zh": "裁剪"}, "unclipped": {"en": "not clipped", "zh": "不裁剪"}},
    ),
    "first-word-latency": ProbeNames(
        {
            "en": "CPU seconds from the last source word to the first target word",
            "zh": "从最后一个源词到第一个目标词的 CPU 秒数",
        },
        _SOURCE_WORDS,
        {"en": "source words", "zh": "源词数"},
        {"one": {"en": "one direction", "zh": "单向"}, "two": {"en": "two directions", "zh": "双向"}},
    ),
    "gradient-distance": ProbeNames(
        {"en": "gradient norm", "zh": "梯度范数"},
        {"en": "distance {number}", "zh": "距离 {number}"},
        {"en": "distance in steps", "zh": "距离（步）"},
        _CELLS,
    ),
    "attention-noise": ProbeNames(
        {"en": "relative variance of the gradient", "zh": "梯度的相对方差"}, words=_ATTENTION
    ),
    "reversed-strings": ProbeNames(
        {"en": "share of strings without a mistake", "zh": "没有错误的字符串的份额"}, words=_ATTENTION
    ),
    "recall-reach": ProbeNames(
        {"en": "share of right answers", "zh": "正确答案的份额"},
        {"en": "lag {number}", "zh": "间隔 {number}"},
        {"en": "lag in steps", "zh": "间隔（步）"},
        {
            **_CELLS,
            "any": {"en": "best cell", "zh": "最好的单元"},
            "rnn-uniform": {"en": "plain cell, uniform weights", "zh": "普通单元，均匀权重"},
            "rnn-orthogonal": {"en": "plain cell, orthogonal weights", "zh": "普通单元，正交权重"},
            **{
                f"{cell}-bias-{bias}": {"en": f"{name}, bias {bias}", "zh": f"{name}，偏置 {bias}"}
                for cell, name in (("lstm", "LSTM"), ("gru", "GRU"))
                for bias in (0, 1, 3)
            },
        },
        drawn=("rnn", "lstm", "gru-fused"),
    ),
    "reading-order": ProbeNames(
        {
            "en": "share of strings without a mistake, or log2 of the updates",
            "zh": "没有错误的字符串的份额，或更新次数的以 2 为底的对数",
        },
        words={
            "forward": {"en": "forward", "zh": "正序"},
            "reversed": {"en": "reversed", "zh": "倒序"},
            "best": {"en": "the better order", "zh": "较好的次序"},
            "updates": {"en": "updates to learn (log2)", "zh": "学会所需的更新次数（log2）"},
        },
        drawn=("forward", "reversed"),
    ),
    "toy-language": ProbeNames(
        {
            "en": "share of sentences without a mistake, or change of log p",
            "zh": "没有错误的句子的份额，或 log p 的变化",
        },
        {"en": "up to {number} words", "zh": "不超过 {number} 词"},
        {"en": "most words of the group", "zh": "该组的最多词数"},
        {
            "vector": {"en": "one vector", "zh": "单个向量"},
            "attention": {"en": "attention", "zh": "注意力"},
            "both": {"en": "both models", "zh": "两个模型"},
            "right": {"en": "right", "zh": "正确"},
            "linked": {"en": "change by linked words in nats", "zh": "有链接词引起的变化（纳特）"},
            "ratio": {"en": "log2 of unlinked / linked", "zh": "无链接 / 有链接之比（log2）"},
        },
        drawn=("vector", "attention"),
    ),
    "order-tasks": ProbeNames(
        {"en": "share of right letters", "zh": "正确字母的份额"},
        words={
            **_MODELS,
            "copy": {"en": "copying", "zh": "复制"},
            "reverse": {"en": "reversing", "zh": "反转"},
            "first": {"en": "which comes first", "zh": "哪个在前"},
            "trained": {"en": "trained lengths", "zh": "训练长度"},
            "longer": {"en": "longer strings", "zh": "更长的字符串"},
        },
    ),
}

_SEARCHES: dict[str, Names] = {
    "beam": {"en": "beam {number}", "zh": "束宽 {number}"},
    "keep": {"en": "largest weights kept: {number}", "zh": "保留的最大权重：{number}"},
    "drop": {"en": "largest weights removed: {number}", "zh": "去掉的最大权重：{number}"},
    "uniform": {"en": "uniform weights", "zh": "均匀权重"},
    "shuffled": {"en": "shuffled weights", "zh": "打乱的权重"},
    "trained": {"en": "trained", "zh": "训练后"},
    "untrained": {"en": "untrained", "zh": "未训练"},
    "diagonal": {"en": "diagonal", "zh": "对角线"},
    "predicted": {"en": "attention", "zh": "注意力"},
    "posterior": {"en": "attention given the word", "zh": "给定词时的注意力"},
}


def probe_names(probe: str) -> ProbeNames:
    """Return the names of a probe; one without names is called by its own."""
    return _PROBES.get(probe, ProbeNames({"en": probe, "zh": probe}))


def size_of(condition: str) -> tuple[str, int | None]:
    """Split a condition into its words and its size. None if it has no size."""
    words, _, last = condition.rpartition(" ")
    return (words, int(last)) if last.isdecimal() else (condition, None)


def condition_name(names: ProbeNames, condition: str, word: Phrases) -> str:
    """Return a condition of a probe in the language of the page."""
    words, size = size_of(condition)
    parts = [names.words.get(each, {}).get(word.language, each) for each in words.split()]
    if size is not None:
        parts.append(names.size.get(word.language, "{number}").format(number=f"{size:,}"))
    return word("comma").join(parts)


def search_name(search: str, word: Phrases) -> str:
    """Return the name of a search, an intervention or another state that a term names."""
    kind, _, number = search.rpartition("-")
    if not number.isdecimal():
        kind = search
    return _SEARCHES.get(kind, {}).get(word.language, search).format(number=number)


def variant_name(claim: Claim, variant: str, word: Phrases) -> str:
    """Return the label of a variant; without one, that of its base or its name in the claim."""
    own = claim.labels.get(word.language, {}).get(variant)
    return own or _MODELS.get(variant, {}).get(word.language, variant)


def term_name(claim: Claim, term: Term, word: Phrases) -> str:
    """Return what a term scores: variant, search and lengths."""
    parts = [variant_name(claim, term.variant, word)]
    if term.search:
        parts.append(search_name(term.search, word))
    if term.words:
        low, high = term.words
        phrase = "words-from" if high >= _LONGEST else "words-to" if low <= 1 else "words-between"
        parts.append(word(phrase, low=low, high=high))
    return word("comma").join(parts)
