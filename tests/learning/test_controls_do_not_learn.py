"""What must not be learnt is not: otherwise `test_presets_learn` would show nothing."""

import pytest

from testkit.toy_tasks import REVERSE, Budget, learn
from tests.learning.small_models import small


def test_a_model_that_never_moves_is_reported() -> None:
    learned = learn(small("bahdanau2015-desk", "training.learning_rate=1e-12"), REVERSE, Budget(20, check_every=10))
    assert learned.updates == 20, "nothing was learnt, so there was nothing to stop for"
    assert learned.exact < 0.02
    assert learned.aligned is not None
    assert learned.aligned < 0.35


@pytest.mark.slow
def test_without_attention_the_same_updates_are_not_enough() -> None:
    """With it, 300 updates give more than 0.98."""
    cut = small("luong2015-desk", "model.decoder.attend=none", "model.decoder.input_feeding=false")
    learned = learn(cut, REVERSE, Budget(300))
    assert learned.exact < 0.8


@pytest.mark.long
def test_hard_attention_finds_no_place_without_reinforce() -> None:
    """The draw has no gradient: only REINFORCE (and the entropy term) trains the attention."""
    deaf = small("xu2015-desk", "training.reinforce_weight=0", "training.entropy_weight=0")
    learned = learn(deaf, REVERSE, Budget(300, batch=128))
    assert learned.exact < 0.8
    assert learned.aligned is not None
    assert learned.aligned < 0.35
