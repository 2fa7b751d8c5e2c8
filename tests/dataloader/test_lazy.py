# SPDX-License-Identifier: Apache-2.0
"""Samplers hand out keys as they are asked for: as many as a program wants later cost nothing now."""
import itertools
import tracemalloc

import pytest

MANY = 10**10


class Huge:
    def __len__(self):
        return MANY

    def __getitem__(self, i):
        return i


def samplers(data):
    yield "with replacement", lambda: data.RandomSampler(range(5), replacement=True, num_samples=MANY)
    yield "many rounds", lambda: data.RandomSampler(range(5), num_samples=MANY)
    yield "in order", lambda: data.SequentialSampler(Huge())
    yield "batches", lambda: data.BatchSampler(data.RandomSampler(range(5), replacement=True, num_samples=MANY), 3, False)
    yield "of one process", lambda: data.DistributedSampler(Huge(), 2, 1, shuffle=False)
    yield "a loader", lambda: data.DataLoader(Huge(), batch_size=2, sampler=data.RandomSampler(Huge(), replacement=True, num_samples=MANY))


NAMES = ["with replacement", "many rounds", "in order", "batches", "of one process", "a loader"]


@pytest.mark.parametrize("name", NAMES)
def test_the_first_keys_of_very_many_cost_little(torch, name):
    make = dict(samplers(torch.utils.data))[name]  # imports the package, which is not what is measured
    tracemalloc.start()
    try:
        keys = make()
        assert len(list(itertools.islice(keys, 3))) == 3
        assert len(keys) in (MANY, MANY // 2, -(-MANY // 3))
        assert tracemalloc.get_traced_memory()[1] < 1 << 20
    finally:
        tracemalloc.stop()


def test_a_permutation_is_not_made_a_list(torch):
    if torch.__name__ != "facula":
        pytest.skip("PyTorch makes one")
    n = 200_000
    order = iter(torch.utils.data.RandomSampler(range(n)))
    next(order)
    tracemalloc.start()
    try:
        rest = sum(1 for _ in order)
        assert rest == n - 1 and tracemalloc.get_traced_memory()[1] < 1 << 20
    finally:
        tracemalloc.stop()
