# SPDX-License-Identifier: Apache-2.0
"""A step of an optimiser on other parameters and state than its own."""

import contextlib
from collections import defaultdict
from typing import Any

_NAME = "swap_in_optimizer_params_and_state"


def _groups(optimizer: Any, given: Any) -> list:
    """The parameter groups of a state_dict, which must be laid out as the optimiser's own."""
    groups, own = given.get("param_groups"), optimizer.param_groups
    if not isinstance(groups, list) or len(groups) != len(own):
        found = f"{len(groups)} groups" if isinstance(groups, list) else type(groups).__name__
        raise RuntimeError(f"{_NAME}: swapin_optim_state['param_groups'] is a list of {len(own)} groups, as the optimizer has, got {found}")
    for i, (group, mine) in enumerate(zip(groups, own)):
        ids = group.get("params") if isinstance(group, dict) else None
        if not isinstance(ids, list) or not all(isinstance(x, int) for x in ids):
            raise RuntimeError(f"{_NAME}: group {i} is no group of optimizer.state_dict(): a dict whose 'params' is a list of numbers")
        if len(ids) != len(mine["params"]):
            raise RuntimeError(f"{_NAME}: group {i} has {len(ids)} params, the optimizer's has {len(mine['params'])}")
        if group.keys() != mine.keys():
            raise RuntimeError(
                f"{_NAME}: group {i} has not the optimizer's keys: only in swapin_optim_state {sorted(group.keys() - mine.keys())},"
                f" only in the optimizer {sorted(mine.keys() - group.keys())}"
            )
    return groups


def _state(given: Any, groups: list) -> dict:
    """The per-parameter state of a state_dict, by the numbers that its groups name."""
    state, ids = given.get("state"), {x for group in groups for x in group["params"]}
    if not isinstance(state, dict) or not all(isinstance(entry, dict) for key, entry in state.items() if isinstance(key, int)):
        raise RuntimeError(f"{_NAME}: swapin_optim_state['state'] is a dict of dicts by the numbers of parameters, as optimizer.state_dict() makes it")
    if strange := [key for key in state if not isinstance(key, int) or key not in ids]:
        raise RuntimeError(f"{_NAME}: swapin_optim_state['state'] has entries that no group names as a parameter: {strange!r:.200}")
    return state


@contextlib.contextmanager
def swap_in_optimizer_params_and_state(optimizer, swapin_parameters, swapin_optim_state):
    """Inside, the optimiser has these parameters (a dict, in the order of its own) and the state of this state_dict; then its own again.

    Tensors of the state that a step changes in place are changed in what was given; entries that it adds or replaces are not.
    """
    if not optimizer.state:
        raise RuntimeError(f"{_NAME}: the optimizer has no state yet: make a step first")
    if not isinstance(swapin_optim_state, dict):
        raise RuntimeError(f"{_NAME}: swapin_optim_state is what optimizer.state_dict() returns, got {type(swapin_optim_state).__name__}")
    groups = _groups(optimizer, swapin_optim_state)
    state = _state(swapin_optim_state, groups)
    parameters, needed = list(swapin_parameters.values()), sum(len(group["params"]) for group in groups)
    if len(parameters) < needed:
        raise RuntimeError(f"{_NAME}: the optimizer has {needed} parameters, swapin_parameters has {len(parameters)}")
    own_state, own_groups = optimizer.state, [dict(group) for group in optimizer.param_groups]
    try:
        optimizer.state = defaultdict(dict)
        rest = iter(parameters)
        for mine, group in zip(optimizer.param_groups, groups):
            mine.update(group, params=[next(rest) for _ in group["params"]])
            for parameter, number in zip(mine["params"], group["params"]):
                optimizer.state[parameter] = dict(state.get(number, {}))
        yield
    finally:
        for mine, before in zip(optimizer.param_groups, own_groups):
            mine.clear()
            mine.update(before)
        optimizer.state = own_state
