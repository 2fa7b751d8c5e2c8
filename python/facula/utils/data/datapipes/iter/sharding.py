# SPDX-License-Identifier: Apache-2.0
"""A pipe that leaves to others what is theirs: of several processes each gets its share."""

import enum
from facula.utils.data.datapipes._decorator import functional_datapipe
from facula.utils.data.datapipes.datapipe import IterDataPipe, length_of

__all__ = ["SHARDING_PRIORITIES", "ShardingFilterIterDataPipe"]


class SHARDING_PRIORITIES(enum.IntEnum):
    """Who shares: machines first, then the workers of each. DEFAULT stands alone."""

    DEFAULT = 1
    DISTRIBUTED = 2
    MULTIPROCESSING = 3


class _ShardingIterDataPipe(IterDataPipe):
    def apply_sharding(self, num_of_instances: int, instance_id: int, sharding_group: SHARDING_PRIORITIES):
        raise NotImplementedError


@functional_datapipe("sharding_filter")
class ShardingFilterIterDataPipe(_ShardingIterDataPipe):
    """Every num_of_instances-th sample from instance_id on, as `apply_sharding` sets them; all until then.
    sharding_group_filter: the only group that counts."""

    def __init__(self, source_datapipe: IterDataPipe, sharding_group_filter=None) -> None:
        self.source_datapipe, self.sharding_group_filter = source_datapipe, sharding_group_filter
        self.groups: dict[int, tuple[int, int]] = {}
        self.num_of_instances, self.instance_id = 1, 0

    def apply_sharding(self, num_of_instances, instance_id, sharding_group=SHARDING_PRIORITIES.DEFAULT):
        """This is number instance_id of num_of_instances in its group; groups multiply."""
        if instance_id >= num_of_instances:
            raise ValueError(f"instance_id({instance_id}) should be smaller than num_of_instances({num_of_instances})")
        default = SHARDING_PRIORITIES.DEFAULT
        if self.groups and (sharding_group == default) != (default in self.groups):
            raise RuntimeError("ShardingFilter cannot mix DEFAULT and non DEFAULT groups")
        self.groups[sharding_group] = (num_of_instances, instance_id)
        self.num_of_instances, self.instance_id = 1, 0
        for group in sorted(self.groups):
            if self.sharding_group_filter in (None, group):
                n, i = self.groups[group]
                self.instance_id += self.num_of_instances * i
                self.num_of_instances *= n

    def __iter__(self):
        for i, item in enumerate(self.source_datapipe):
            if i % self.num_of_instances == self.instance_id:
                yield item

    def __len__(self) -> int:
        return len(range(self.instance_id, length_of(self.source_datapipe, self), self.num_of_instances))
