"""Random numbers without a generator: known answers, and every independence that training rests on."""

from __future__ import annotations

import math
import subprocess
import sys
from typing import Any

import pytest
import torch
from torch import Tensor, nn

from dragoman.nn.stateless_noise import (
    Dropout,
    Noise,
    exclude_noise_from_compilation,
    number_sites,
    scramble,
    scramble_int,
    site_of,
)

GAMMA = 0x9E3779B97F4A7C15
MANY = 2**18
SIGMAS = 4.5  # of about a hundred checks with fixed seeds, none should be this far out by chance


def dropped(seed: int = 1, step: int = 1, site: int = 1, row: int = 0, rate: float = 0.5, count: int = MANY) -> Tensor:
    """One long row of a mask as zeros (kept) and ones (dropped)."""
    noise = Noise.of(seed, step, torch.tensor([row]))
    return (noise.keep(site, (1, count), rate, torch.float64)[0] == 0).double()


def correlation(a: Tensor, b: Tensor) -> float:
    """In standard deviations of what independent rows give."""
    return float(torch.corrcoef(torch.stack([a, b]))[0, 1]) * math.sqrt(a.numel())


def test_the_mixing_function_is_splitmix64():
    published = [6457827717110365317, 3203168211198807973, 9817491932198370423, 4593380528125082431]
    states = [(1234567 + n * GAMMA) % 2**64 for n in range(1, 5)]
    assert [scramble_int(state) for state in states] == published
    signed = torch.tensor([state - 2**64 if state >= 2**63 else state for state in states])
    assert [int(word) % 2**64 for word in scramble(signed)] == published


@pytest.mark.parametrize("rate", [0.1, 0.2, 0.3, 0.5, 0.9])
def test_the_rate_is_the_rate_and_the_mean_is_kept(rate: float):
    mask = Noise.of(3, 5, torch.arange(4)).keep(7, (4, 512, 512), rate, torch.float64)
    share = float((mask == 0).double().mean())
    assert abs(share - rate) < SIGMAS * math.sqrt(rate * (1 - rate) / mask.numel()) + 2**-17
    assert float(mask.mean()) == pytest.approx(1.0, abs=0.01 / (1 - rate))
    assert mask.unique().tolist() == pytest.approx([0.0, 1 / (1 - rate)], rel=1e-4 / (1 - rate))


@pytest.mark.parametrize("rate", [0.0, 2**-17 * 0.9])
def test_a_rate_below_the_resolution_drops_nothing(rate: float):
    assert dropped(rate=rate).sum() == 0


@pytest.mark.parametrize(
    "other",
    [{"site": 2}, {"step": 2}, {"seed": 2}, {"row": 1}, {"row": 2**40}, {"seed": 2**63}, {"site": 2**64 - 1}],
    ids=str,
)
def test_masks_of_other_sites_steps_seeds_and_rows_are_independent(other: dict[str, int]):
    one, another = dropped(), dropped(**other)
    assert not torch.equal(one, another)
    assert abs(correlation(one, another)) < SIGMAS


def test_seed_step_site_and_row_do_not_stand_in_for_each_other():
    """A sum of the four would give the same mask for (1, 2) and (2, 1)."""
    masks = [
        dropped(seed=2, step=1),
        dropped(seed=1, step=2),
        dropped(site=2, row=1),
        dropped(site=1, row=2),
        dropped(step=2, row=1),
        dropped(step=1, row=2),
        dropped(seed=2, site=1),
        dropped(seed=1, site=2),
    ]
    for number, one in enumerate(masks):
        for another in masks[number + 1 :]:
            assert abs(correlation(one, another)) < SIGMAS or torch.equal(one, another)
    different = {tuple(mask[:64].tolist()) for mask in masks}
    # (seed 2, step 1) is the same draw as (seed 2, site 1), and so on: six different keys among the eight.
    assert len(different) == 6


@pytest.mark.parametrize("lag", [1, 2, 3, 4, 7, 8, 256, 512, 4096])
def test_neighbours_in_a_row_are_independent(lag: int):
    row = dropped(rate=0.3)
    assert abs(correlation(row[:-lag], row[lag:])) < SIGMAS


def test_pairs_of_neighbours_come_in_all_forms_equally_often():
    pairs = dropped(count=2 * MANY).view(-1, 2) @ torch.tensor([1.0, 2.0], dtype=torch.float64)
    counts = torch.bincount(pairs.long(), minlength=4).double()
    expected = counts.sum() / 4
    assert float(((counts - expected) ** 2 / expected).sum()) < 21.0  # chi-square, 3 degrees of freedom, p = 1e-4


def test_a_mask_does_not_depend_on_batch_company_or_padding():
    rows = torch.tensor([5, 99, 7, 12345678901])
    whole = Noise.of(1, 2, rows).keep(3, (4, 9, 10), 0.3, torch.float32)
    alone = Noise.of(1, 2, rows[2:3]).keep(3, (1, 6, 10), 0.3, torch.float32)
    assert torch.equal(whole[2:3, :6], alone)
    halves = [Noise.of(1, 2, half).keep(3, (2, 9, 10), 0.3, torch.float32) for half in rows.split(2)]  # two ranks
    assert torch.equal(torch.cat(halves), whole)
    shuffled = torch.tensor([3, 0, 2, 1])
    assert torch.equal(Noise.of(1, 2, rows).select(shuffled).keep(3, (4, 9, 10), 0.3, torch.float32), whole[shuffled])


def test_a_mask_does_not_depend_on_the_number_of_threads():
    before = torch.get_num_threads()
    try:
        masks = []
        for threads in (1, 2, 3):
            torch.set_num_threads(threads)
            masks.append(Noise.of(1, 1, torch.arange(64)).keep(1, (64, 33, 65), 0.2, torch.float32))
    finally:
        torch.set_num_threads(before)
    assert torch.equal(masks[0], masks[1])
    assert torch.equal(masks[0], masks[2])


@pytest.mark.parametrize("shape", [(2, 1), (2, 3, 5), (1, 7), (3, 2, 2, 3)])
def test_rows_that_are_no_multiple_of_a_word_work(shape: tuple[int, ...]):
    assert Noise.of(1, 1, torch.arange(shape[0])).keep(1, shape, 0.4, torch.bfloat16).shape == shape


def test_uniform_numbers_are_uniform_and_never_an_endpoint():
    numbers = Noise.of(1, 1, torch.arange(4)).uniform(9, torch.arange(MANY).expand(4, -1)).flatten().sort().values
    assert float(numbers[0]) > 0
    assert float(numbers[-1]) < 1
    steps = (torch.arange(1, numbers.numel() + 1).double()) / numbers.numel()
    distance = float((numbers - steps).abs().max()) * math.sqrt(numbers.numel())
    assert distance < 2.0  # Kolmogorov-Smirnov, p = 7e-4


def test_a_biased_generator_would_be_found():
    """The negative control: the counter alone, unmixed, fails the checks above."""
    counter = torch.arange(MANY).double()
    assert abs(correlation((counter % 4 < 2).double(), ((counter + 1) % 4 < 2).double())) < SIGMAS
    assert abs(correlation((counter % 4 < 2)[:-2].double(), (counter % 4 < 2)[2:].double())) > SIGMAS


def test_dropout_without_noise_or_rate_is_the_identity():
    x = torch.randn(2, 3)
    dropout = Dropout(0.5)
    assert dropout(x, None) is x
    nothing = Dropout(0.0)
    assert nothing(x, Noise.of(1, 1, torch.arange(2))) is x


def test_dropout_scales_values_and_gradients_alike():
    dropout = Dropout(0.5)
    dropout.site = 4
    noise = Noise.of(1, 1, torch.arange(3))
    x = torch.randn(3, 8, requires_grad=True)
    y = dropout(x, noise)
    y.sum().backward()
    mask = noise.keep(4, (3, 8), 0.5, x.dtype)
    assert torch.equal(y.detach(), x.detach() * mask)
    assert x.grad is not None
    assert torch.equal(x.grad, mask)


def test_a_site_must_be_given():
    with pytest.raises(AssertionError, match="number_sites"):
        Dropout(0.5)(torch.zeros(1, 1), Noise.of(1, 1, torch.arange(1)))


def test_every_part_that_draws_gets_a_site_of_its_own_by_its_name():
    model = nn.ModuleDict({"a": Dropout(0.1), "b": nn.Sequential(Dropout(0.1), nn.Linear(2, 2))})
    number_sites(model)
    sites = [module.site for module in model.modules() if isinstance(module, Dropout)]
    assert sites == [site_of("a"), site_of("b.0")]
    assert len(set(sites)) == 2


def test_the_compiler_is_not_imported_with_the_models():
    """Its import takes two CPU seconds, and a translation does not need it."""
    code = "import sys, dragoman.models, dragoman.nn; print('torch' in sys.modules, 'torch._dynamo' in sys.modules)"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.split() == ["True", "False"]


@pytest.mark.filterwarnings("ignore::DeprecationWarning:torch")
def test_noise_is_not_compiled():
    compiled: list[str] = []

    def backend(graph: torch.fx.GraphModule, _: list[Any]) -> Any:
        compiled.extend(str(node.target) for node in graph.graph.nodes)
        return graph.forward

    def drop(x: Tensor, noise: Noise) -> Tensor:
        return torch.relu(x) * noise.keep(1, x.shape, 0.5, x.dtype) + noise.uniform(1, torch.arange(2).view(2, 1))

    exclude_noise_from_compilation()
    x, noise = torch.ones(2, 8), Noise.of(1, 1, torch.arange(2))
    assert torch.equal(torch.compile(drop, backend=backend)(x, noise), drop(x, noise))
    assert [name for name in compiled if "relu" in name]
    assert not [name for name in compiled if "bitwise_xor" in name]
