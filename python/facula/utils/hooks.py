# SPDX-License-Identifier: Apache-2.0
"""torch.utils.hooks: handles that take hooks away again."""

import weakref
from typing import Any

__all__ = ["RemovableHandle"]


class RemovableHandle:
    """The entry of a hook in a dict of hooks; remove(), or leaving a `with` block, takes it out. Keeps no hook alive."""

    next_id: int = 0

    def __init__(self, hooks_dict: Any, *, extra_dict: Any = None) -> None:
        self.hooks_dict_ref = weakref.ref(hooks_dict)
        self.id = RemovableHandle.next_id
        RemovableHandle.next_id += 1
        extra = extra_dict if isinstance(extra_dict, list) else [] if extra_dict is None else [extra_dict]
        self.extra_dict_ref = tuple(map(weakref.ref, extra))

    def remove(self) -> None:
        """Takes the hook away. A second call does nothing."""
        for ref in (self.hooks_dict_ref, *self.extra_dict_ref):
            hooks = ref()
            if hooks is not None:
                hooks.pop(self.id, None)

    def __getstate__(self):
        return (self.hooks_dict_ref(), self.id, tuple(ref() for ref in self.extra_dict_ref))

    def __setstate__(self, state) -> None:
        from collections import OrderedDict

        hooks, self.id, extra = state[0], state[1], state[2] if len(state) > 2 else ()
        self.hooks_dict_ref = weakref.ref(OrderedDict() if hooks is None else hooks)
        self.extra_dict_ref = tuple(weakref.ref(OrderedDict() if d is None else d) for d in extra)
        RemovableHandle.next_id = max(RemovableHandle.next_id, self.id + 1)

    def __enter__(self) -> "RemovableHandle":
        return self

    def __exit__(self, *exception: Any) -> None:
        self.remove()
