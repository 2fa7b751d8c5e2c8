# SPDX-License-Identifier: Apache-2.0
"""Makes a call that shows a finding short: tries simpler arguments as long as the finding stays the same."""
from dataclasses import replace

from fuzz_operators.values import Alias


def simpler_calls(call):
    if call.after == "twice":
        yield replace(call, after="backward")
    if call.after:
        yield replace(call, after="")
    for key in call.kwargs:
        yield replace(call, kwargs={k: v for k, v in call.kwargs.items() if k != key})
    used = max((v.of for v in call.values() if isinstance(v, Alias)), default=-1)
    if call.args and used < len(call.args) - 1:
        yield replace(call, args=call.args[:-1])
    for i, value in enumerate(call.args):
        for other in value.simpler():
            yield replace(call, args=[*call.args[:i], other, *call.args[i + 1:]])
    for key, value in call.kwargs.items():
        for other in value.simpler():
            yield replace(call, kwargs={**call.kwargs, key: other})


def shrink(call, shows, attempts=300):
    """The simplest call found for which shows(call) is still true."""
    changed = True
    while changed and attempts > 0:
        changed = False
        for candidate in simpler_calls(call):
            attempts -= 1
            if attempts <= 0:
                break
            if shows(candidate):
                call, changed = candidate, True
                break
    return call
