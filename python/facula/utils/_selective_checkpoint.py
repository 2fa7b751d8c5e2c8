# SPDX-License-Identifier: Apache-2.0
"""Selective checkpointing: of a checkpointed function, results of chosen operators are kept and not computed again.

`create_selective_checkpoint_contexts` makes the two contexts for checkpoint's context_fn. In the first run a route (below autograd,
so that every operator records what it always does) asks the policy about every kernel and keeps the results that should be saved; in
the second run kernels are counted per operator, and those whose results were kept are not run.
"""

import collections
import enum

import facula as torch
from facula import _C, dispatch
from facula.utils._pytree import tree_map_only


class CheckpointPolicy(enum.Enum):
    """What becomes of an operator's result. PREFER_* may be overruled by a compiler; offloading is computing again here."""

    MUST_SAVE = 0
    PREFER_SAVE = 1
    MUST_RECOMPUTE = 2
    PREFER_RECOMPUTE = 3
    MUST_CPU_OFFLOAD = 4
    PREFER_CPU_OFFLOAD = 5


_SAVES = (CheckpointPolicy.MUST_SAVE, CheckpointPolicy.PREFER_SAVE)
SAC_IGNORED_OPS = {torch.ops.aten.detach.default}  # checkpoint itself calls it, more often in one run than in the other


class SelectiveCheckpointContext:
    """What a policy is told beside the operator and its arguments."""

    def __init__(self, *, is_recompute, op_output=None):
        self.is_recompute, self.op_output = is_recompute, op_output


class _Kept:
    """A result, and the version that it must still have."""

    def __init__(self, tensor):
        self.tensor, self.version = tensor.detach(), tensor._version

    def get(self, may_have_changed):
        if not may_have_changed and self.tensor._version != self.version:
            raise RuntimeError(
                "Tensor cached during selective activation checkpoint has been mutated: write to a copy, or pass "
                "allow_cache_entry_mutation=True"
            )
        return self.tensor


_COMPUTED_AGAIN, _USED = object(), object()


class _Route:
    """A context in which ask(op, args, kwargs, go_on) answers for kernels; it may be entered again."""

    def __enter__(self):
        self.route = dispatch.route(self.ask)
        self.route.__enter__()
        return self

    def __exit__(self, *error):
        return self.route.__exit__(*error)


class _Keeping(_Route):
    """The first run."""

    def __init__(self, policy, calls):
        self.policy, self.calls = policy, calls

    def ask(self, op, args, kwargs, go_on):
        out = go_on(*args, **kwargs)
        if op in SAC_IGNORED_OPS:
            return out
        wanted = self.policy(SelectiveCheckpointContext(is_recompute=False, op_output=out), op, *args, **kwargs)
        saves = wanted if isinstance(wanted, bool) else wanted in _SAVES
        writes = any(out is x for x in args)  # in place: it must happen again
        self.calls[op].append(tree_map_only(torch.Tensor, _Kept, out) if saves and not writes else _COMPUTED_AGAIN)
        return out


class _Giving(_Route):
    """The second run."""

    def __init__(self, calls, may_have_changed):
        self.calls, self.may_have_changed, self.seen = calls, may_have_changed, collections.Counter()

    def __enter__(self):
        self.seen.clear()
        return super().__enter__()

    def ask(self, op, args, kwargs, go_on):
        if op in SAC_IGNORED_OPS:
            return NotImplemented
        at, calls = self.seen[op], self.calls.get(op, [])
        self.seen[op] += 1
        if at >= len(calls):
            raise RuntimeError(
                f"{op} was called {len(calls)} times in the forward pass and once more when it was computed again: a checkpointed "
                "function must call the same operators each time"
            )
        kept = calls[at]
        if kept is _COMPUTED_AGAIN:
            return NotImplemented
        if kept is _USED:
            raise RuntimeError(
                "Trying to backward an extra time. You are only allowed to backward once on any region computed under selective "
                "activation checkpoint."
            )
        calls[at] = _USED
        return tree_map_only(_Kept, lambda k: k.get(self.may_have_changed), kept)


def create_selective_checkpoint_contexts(policy_fn_or_list, allow_cache_entry_mutation=False):
    """The contexts of both runs. The policy is a function of (SelectiveCheckpointContext, operator, its arguments) that answers
    with a CheckpointPolicy (or whether to save), or a list of the operators whose results are saved."""
    if isinstance(policy_fn_or_list, list):
        for op in policy_fn_or_list:
            if not isinstance(op, _C.Operator):
                more = " Please specify the overload, such as torch.ops.aten.mm.default." if isinstance(op, type(torch.ops.aten.mm)) else ""
                raise ValueError(f"Expected op in `op_list` to be an OpOverload but got: {op} of type {type(op)}.{more}")
        chosen = set(policy_fn_or_list)

        def policy(context, op, *args, **kwargs):
            return CheckpointPolicy.MUST_SAVE if op in chosen else CheckpointPolicy.PREFER_RECOMPUTE
    elif callable(policy_fn_or_list):
        policy = policy_fn_or_list
    else:
        raise TypeError("policy_fn_or_list must be either a function or a list of ops.")
    calls = collections.defaultdict(list)
    return _Keeping(policy, calls), _Giving(calls, allow_cache_entry_mutation)
