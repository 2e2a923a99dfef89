from dataclasses import replace
from itertools import pairwise

from dragoman.data.check.report_types import (
    SelectionStatistics,
    leaks,
    merged,
    places,
    verdict,
    waterfall,
)
from dragoman.data.reason_counts import Example, Tally
from tests.unit.data.check.samples import DROPS, FAULTS, SELECTION_DROPS, bare_report, sample_report


def test_the_waterfall_goes_from_what_was_read_to_what_is_kept():
    report = sample_report()
    steps = waterfall(report)
    assert steps[0].left + steps[0].count == 1_410_000
    assert steps[-1].left == report.selection.kept
    assert {step.reason for step in steps} == {*FAULTS, *DROPS, *SELECTION_DROPS}
    assert all(before.left - after.count == after.left for before, after in pairwise(steps))
    order = ["reading", "cleaning", "leakage", "duplicates"]
    assert [step.stage for step in steps] == sorted((step.stage for step in steps), key=order.index)


def test_reasons_of_several_corpora_add_up():
    drops = {step.reason: step.count for step in waterfall(sample_report())}
    assert drops["empty"] == 6_400 + 604
    assert drops["identical"] == 44_102


def test_pairs_set_aside_are_a_step_of_their_own():
    report = sample_report()
    report = replace(report, selection=replace(report.selection, kept=report.selection.kept - 1000))
    last = waterfall(report)[-1]
    assert (last.stage, last.count, last.left) == ("held out", 1000, report.selection.kept)


def test_a_leak_is_no_duplicate_whatever_the_set_is_called():
    tally = Tally()
    tally.add("pair also in duplicates", 3)
    tally.add("near-duplicate", 4)
    report = replace(sample_report(), selection=SelectionStatistics(10, 3, tally, {}))
    assert leaks(report) == {"pair also in duplicates": 3}


def test_verdicts():
    report = sample_report()
    assert verdict(report).level == "warning"
    assert "1,151,786 of 1,410,000 training pairs are kept (81.7 %)" in verdict(report).detail
    good = replace(report, advice=[], corpora=[replace(report.corpora[0], looks_swapped=False)])
    assert verdict(good).level == "ok"
    assert verdict(replace(good, selection=SelectionStatistics(5, 0, Tally(), {}))).level == "error"
    assert verdict(bare_report()).level == "error"


def test_a_check_that_was_stopped_early_does_not_say_that_nothing_is_kept():
    stopped = replace(sample_report(), selection=SelectionStatistics(0, 0, Tally(), {}), fatal=["it broke"])
    assert "left after cleaning" in verdict(stopped).detail
    assert "1,302,100 of" in verdict(stopped).detail


def test_places_show_every_reason_before_the_second_of_any():
    tally = Tally()
    tally.add("many", 8, [Example("a", line) for line in range(1, 9)])
    tally.add("few", 1, [Example("a", 3)])
    assert [(reason, example.line) for reason, example in places(tally, 3)] == [("many", 1), ("many", 2), ("few", 3)]


def test_merging_leaves_the_report_as_it_is():
    report = sample_report()
    before = report.to_json()
    merged(report.corpora, "drops")
    waterfall(report)
    assert report.to_json() == before
