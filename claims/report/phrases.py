"""Phrases of the report in English and Chinese."""

from __future__ import annotations

import math
import re
from dataclasses import dataclass

from claims.ledger.claim import ReportLanguage
from claims.ledger.verdict import ClaimVerdict
from claims.measurement.attention_statistics import TOP

_LONG = 120  # minutes

_WORDS: dict[str, dict[ReportLanguage, str]] = {
    "title": {"en": "Claims ledger", "zh": "论断记录"},
    "intro": {
        "en": "Each claim of the reading notes has an experiment, an interval and a verdict. "
        "Computed from the records by `python -m claims report`.",
        "zh": "笔记中的每个论断都有对应的实验、区间和结论。本页由 `python -m claims report` 根据记录生成。",
    },
    "claim": {"en": "claim", "zh": "论断"},
    "verdict": {"en": "verdict", "zh": "结论"},
    "seeds": {"en": "seeds", "zh": "种子数"},
    "minutes": {"en": "CPU minutes", "zh": "CPU 分钟"},
    "comparison": {"en": "comparison", "zh": "比较"},
    "measure": {"en": "measure", "zh": "度量"},
    "expected": {"en": "expected", "zh": "预期"},
    "least": {"en": "smallest effect", "zh": "最小效应"},
    "effect": {"en": "effect", "zh": "效应"},
    "interval": {"en": "interval", "zh": "区间"},
    "paper-column": {"en": "paper's figure", "zh": "论文结果"},
    "deciding": {"en": "deciding effect", "zh": "起判定作用的效应"},
    "table-note": {
        "en": "The deciding effect is that of a comparison with the verdict of the claim, or of a precondition that is "
        "not met. Of several, it is the one nearest to its limit, relative to the width of its interval. In brackets: "
        "the interval, and the limit (the smallest effect). The paper's figure is its "
        "own, with its size; “–” means that none is known. CPU minutes are those of the trainings, or of the probes: "
        "searches and other measurements are not included, and claims share models.",
        "zh": "“起判定作用的效应”取自与论断结论相同的比较，或未满足的前提。若有多项，取相对于区间宽度最接近界限的一项。"
        "括号内是区间和界限（最小效应）。“论文结果”一列是论文自己的数字和规模，“–”表示没有已知的数字。"
        "CPU 分钟只计训练或探针，不含搜索和其他测量；论断之间共用模型。",
    },
    "our-size": {
        "en": "Ours: models of {smallest} to {largest} million parameters and {fewest} to {most} updates, or probes.",
        "zh": "本项目的规模：参数量（百万）为 {smallest} 到 {largest} 的模型，{fewest} 到 {most} 次更新；或探针。",
    },
    "lacking": {"en": "{lacking} of {all} records missing", "zh": "缺少 {lacking} / {all} 条记录"},
    "measured": {"en": "Measured {first} to {last}", "zh": "测量日期：{first} 至 {last}"},
    "measured-once": {"en": "Measured {first}", "zh": "测量日期：{first}"},
    "models": {"en": "Models", "zh": "模型"},
    "model": {"en": "model", "zh": "模型"},
    "mean": {"en": "mean", "zh": "平均"},
    "geometric-mean": {"en": "geometric mean", "zh": "几何平均"},
    "corpus": {"en": "corpus", "zh": "语料"},
    "parameters": {"en": "parameters", "zh": "参数量"},
    "updates": {"en": "updates", "zh": "更新次数"},
    "untested": {"en": "not measured yet", "zh": "尚未测量"},
    "partly": {"en": "partly measured", "zh": "部分测量"},
    "complete": {"en": "all {all} records exist", "zh": "{all} 条记录齐全"},
    "missing": {
        "en": "{missing} of {all} records missing, about {time} of training",
        "zh": "缺少 {missing} / {all} 条记录，训练约需 {time}",
    },
    "incomplete": {
        "en": "{missing} of {all} records missing, {incomplete} more incomplete, about {time} of training",
        "zh": "缺少 {missing} / {all} 条记录，另有 {incomplete} 条不完整，训练约需 {time}",
    },
    "all-claims": {"en": "All claims together, which share records", "zh": "所有论断合计（论断之间共用记录）"},
    "cpu-minutes": {"en": "{number} CPU minutes", "zh": "{number} CPU 分钟"},
    "cpu-hours": {"en": "{number} CPU hours", "zh": "{number} CPU 小时"},
    "colon": {"en": ": ", "zh": "："},
    "stop": {"en": ".", "zh": "。"},
    "sentence-end": {"en": ". ", "zh": "。"},
    "comma": {"en": ", ", "zh": "，"},
    "space": {"en": " ", "zh": ""},
    "semicolon": {"en": "; ", "zh": "；"},
    "bracketed": {"en": " ({text})", "zh": "（{text}）"},
    "legend-inner": {"en": "95 % interval", "zh": "95 % 区间"},
    "legend-outer": {"en": "with Holm's correction", "zh": "经 Holm 校正"},
    "legend-least": {"en": "smallest effect", "zh": "最小效应"},
    "legend-holds": {"en": "the comparison holds", "zh": "比较成立的范围"},
    "legend-seed": {"en": "one seed", "zh": "一个种子"},
    "legend-mean": {"en": "mean", "zh": "平均"},
    "chart-scores": {"en": "Scores by variant and seed", "zh": "各变体、各种子的得分"},
    "chart-beam": {"en": "BLEU by the width of the beam", "zh": "BLEU 与束宽"},
    "chart-keep": {"en": "BLEU by the number of weights kept", "zh": "BLEU 与保留的权重数"},
    "chart-length": {"en": "BLEU by source length", "zh": "BLEU 与源句长度"},
    "chart-length-note": {"en": "Texts per group: {counts}", "zh": "各组文本数：{counts}"},
    "chart-coverage": {"en": "Coverage of the source", "zh": "源句的覆盖"},
    "chart-probe": {"en": "Values by condition and seed: {unit}", "zh": "各条件、各种子的值：{unit}"},
    "chart-by-size": {"en": "{unit}, by {size}", "zh": "{unit}与{size}"},
    "chart-position": {"en": "at {value} {label}", "zh": "{label} {value}"},
    "chart-seeds": {"en": "Lines: means; points: seeds", "zh": "线：平均；点：各种子"},
    "axis-beam": {"en": "width of the beam", "zh": "束宽"},
    "axis-keep": {"en": "largest weights kept", "zh": "保留的最大权重数"},
    "axis-length": {"en": "source words", "zh": "源词数"},
    "axis-coverage": {"en": "total weight of a source token", "zh": "源词元的总权重"},
    "axis-coverage-share": {"en": "share of source tokens", "zh": "源词元的份额"},
    "words-to": {"en": "up to {high} words", "zh": "不超过 {high} 词"},
    "words-from": {"en": "{low} words and more", "zh": "{low} 词及以上"},
    "words-between": {"en": "{low} to {high} words", "zh": "{low} 到 {high} 词"},
    "one-seed": {"en": "one seed: no interval", "zh": "只有一个种子：无区间"},
    "repeated": {"en": "repeated words per 100", "zh": "每百词重复词"},
    "dropped": {"en": "dropped source words per 100", "zh": "每百源词漏译词"},
    "findings": {"en": "Findings", "zh": "发现"},
    "remains": {"en": "What remains", "zh": "剩余工作"},
    "paper": {"en": "The paper", "zh": "论文结果"},
    "rule": {"en": "Rule", "zh": "判定规则"},
    "rule-any": {
        "en": "One comparison is enough, preconditions and controls left out.",
        "zh": "前提和对照除外，一项比较成立即可。",
    },
    "unfit": {"en": "Not tested", "zh": "未检验"},
    "earlier": {"en": "Earlier", "zh": "先前"},
    "appendix": {"en": "Qualifications of earlier rounds", "zh": "先前各轮的说明"},
    "limits": {"en": "Limits", "zh": "局限"},
    "more": {
        "en": "{name}: about {seeds} seeds per variant would decide it",
        "zh": "{name}：每个变体约需 {seeds} 个种子才能判定",
    },
    "waits": {
        "en": "{name}: its own interval would decide it, but in Holm's order a comparison before it is open",
        "zh": "{name}：它自己的区间足以判定，但在 Holm 的次序中，它之前有一项比较没有判定",
    },
    "precondition": {
        "en": "{name}: a precondition that is not met; the experiment decides nothing about the claim",
        "zh": "{name}：前提不满足，这个实验不能判定该论断",
    },
    "precondition-open": {
        "en": "{name}: a precondition that is not shown to be met; more seeds of these models would not change that",
        "zh": "{name}：没有证明满足前提，增加这些模型的种子也不会改变",
    },
    "sentences": {"en": "test sentences", "zh": "测试句"},
    "rounds": {"en": "rounds per seed", "zh": "轮次（每个种子）"},
    "estimate": {
        "en": "{name}: it needs more than {most} seeds per variant, or more {items}",
        "zh": "{name}：每个变体需要 {most} 个以上的种子，或更多{items}",
    },
    "estimate-number": {
        "en": "{name}: more seeds would not decide it; if the effect is right, it needs about {number} {items} instead "
        "of {now}, and many seeds",
        "zh": "{name}：增加种子无法判定；若效应属实，需要约 {number} 个{items}（现有 {now}），以及许多种子",
    },
    "estimate-factor": {
        "en": "{name}: more seeds would not decide it; if the effect is right, it needs about {factor} times as many "
        "{items}, and many seeds",
        "zh": "{name}：增加种子无法判定；若效应属实，需要约 {factor} 倍的{items}，以及许多种子",
    },
    "estimate-limit": {
        "en": "{name}: more seeds would not decide it; the effect is so near to its limit that it needs more than "
        "{most} times as many {items}",
        "zh": "{name}：增加种子无法判定；效应太接近界限，需要 {most} 倍以上的{items}",
    },
    ClaimVerdict.HOLDS: {"en": ClaimVerdict.HOLDS, "zh": "在此成立"},
    ClaimVerdict.FAILS: {"en": ClaimVerdict.FAILS, "zh": "在此不成立"},
    ClaimVerdict.OPEN: {"en": ClaimVerdict.OPEN, "zh": "在此规模下无法判断"},
    ClaimVerdict.NOT_TESTED: {"en": ClaimVerdict.NOT_TESTED, "zh": "未检验"},
    "screen-other-file": {"en": "ledger.zh.html", "zh": "ledger.html"},
    "screen-other-code": {"en": "zh-CN", "zh": "en"},
    "screen-other-name": {"en": "简体中文", "zh": "English"},
    "screen-report": {"en": "long report", "zh": "完整报告"},
    "screen-holds": {"en": "hold", "zh": "成立"},
    "screen-fails": {"en": "do not hold", "zh": "不成立"},
    "screen-open": {"en": "open", "zh": "未判定"},
    "screen-untested": {"en": "not tested", "zh": "未检验"},
    "screen-guess-first": {"en": "Guess first: hide verdicts", "zh": "先猜：隐藏结论"},
    "screen-show": {"en": "Show", "zh": "显示"},
    "screen-all": {"en": "all claims", "zh": "所有论断"},
    "screen-surprises": {"en": "surprises: not as written before", "zh": "意外：与事先写下的不同"},
    "screen-undecided": {"en": "open, and what it would cost", "zh": "未判定，及所需代价"},
    "screen-cells": {"en": "Cells", "zh": "单元"},
    "screen-sequence": {"en": "Sequence to sequence", "zh": "序列到序列"},
    "screen-attention": {"en": "Attention", "zh": "注意力"},
    "screen-transformer": {"en": "Transformer", "zh": "Transformer"},
    "screen-effort-1": {"en": "a part was measured", "zh": "测量了单个部件"},
    "screen-effort-2": {"en": "models were trained on a small task", "zh": "在小任务上训练了模型"},
    "screen-effort-3": {"en": "translation models were trained", "zh": "训练了翻译模型"},
    "screen-key": {
        "en": "Bar: the interval of the effect that decides; dashes: its limit; shaded: where the claim holds. "
        "●: a part was measured, ●●: a small task, ●●●: translation.",
        "zh": "横条：起判定作用的效应的区间；虚线：界限；阴影：论断成立的范围。●：单个部件，●●：小任务，●●●：翻译。",
    },
    "screen-close": {"en": "Close", "zh": "关闭"},
    "screen-stop": {"en": ". ", "zh": "："},
    "screen-your-guess": {"en": "Your guess:", "zh": "你的猜测："},
    "screen-vote-holds": {"en": "it holds", "zh": "成立"},
    "screen-vote-fails": {"en": "it does not", "zh": "不成立"},
    "screen-vote-show": {"en": "show it", "zh": "直接看"},
    "screen-written": {"en": "written before the measurement", "zh": "测量前写下的猜测"},
    "screen-missing": {
        "en": "the rule is committed, {missing} of {all} records are missing",
        "zh": "规则已提交，缺少 {missing} / {all} 条记录",
    },
    "screen-next": {"en": "What would decide it", "zh": "如何判定"},
    "screen-run": {"en": "Run it yourself", "zh": "自己运行"},
    "screen-cost": {"en": "{seeds} seeds, {time}", "zh": "{seeds} 个种子，{time}"},
    "screen-score": {
        "en": "You guessed {voted} of {all}. Of the {decided} decided ones you have {right} right, the guesses written "
        "before the measurement {written}.",
        "zh": "你猜了 {all} 个中的 {voted} 个。在已判定的 {decided} 个中，你猜对 {right} 个，"
        "测量前写下的猜测对 {written} 个。",
    },
    "screen-none-voted": {"en": "Open a claim and guess.", "zh": "打开一个论断，猜一猜。"},
}

_UNITS_ZH = {
    "doublings": "倍增次数",
    "nats per token": "每词元纳特",
    "share": "份额",
    "share of weights < 0.01": "小于 0.01 的权重的份额",
    "effective number of words": "有效词数",
    **{f"mass of the top {k} weights": f"最大 {k} 个权重之和" for k in TOP},
    "alignment error rate": "对齐错误率",
    "change by an unlinked word / by a linked word": "无链接词引起的变化 / 有链接词引起的变化",
    "change of log p by a linked word, in nats": "有链接词引起的 log p 的变化（纳特）",
    "mean of (1 − Σ a)²": "(1 − Σ a)² 的平均",
    "share of source tokens with Σ a < 0.5": "Σ a < 0.5 的源词元的份额",
    "share of source tokens with Σ a > 1.5": "Σ a > 1.5 的源词元的份额",
    "repeated words per 100": "每百词重复词",
    "dropped source words per 100": "每百源词漏译词",
}


@dataclass(frozen=True)
class Phrases:
    """Phrases of the page in one language."""

    language: ReportLanguage

    def __call__(self, phrase: str, /, **values: object) -> str:
        """Return a phrase with its values; without values its fields are kept."""
        text = _WORDS[phrase][self.language]
        return text.format(**values) if values else text

    def unit(self, unit: str) -> str:
        """Return the unit of a measure in this language."""
        return _UNITS_ZH.get(unit, unit) if self.language == "zh" else unit

    def machine(self, machine: str) -> str:
        """Return the description of a machine with the punctuation of this language."""
        if self.language == "en":
            return machine
        return re.sub(r"(\d+) cores", r"\1 核", machine).replace(", ", self("comma")).replace("; ", self("semicolon"))

    def cpu_time(self, minutes: float) -> str:
        """Return a CPU time in minutes, from two hours on in hours."""
        if minutes < _LONG:
            return self("cpu-minutes", number=f"{math.ceil(minutes)}")
        return self("cpu-hours", number=f"{minutes / 60:.1f}")
