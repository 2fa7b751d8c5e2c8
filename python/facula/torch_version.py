# SPDX-License-Identifier: Apache-2.0
"""torch.__version__: a string that compares as versions do (PEP 440), also with strings and tuples."""

import re

__all__ = ["TorchVersion"]

_PATTERN = re.compile(
    r"v?(?:(?P<epoch>\d+)!)?(?P<release>\d+(?:\.\d+)*)(?:[-_.]?(?P<pre>alpha|a|beta|b|preview|pre|c|rc)[-_.]?(?P<pre_n>\d*))?"
    r"(?P<post>-(?P<post_n1>\d+)|[-_.]?(?:post|rev|r)[-_.]?(?P<post_n2>\d*))?(?P<dev>[-_.]?dev[-_.]?(?P<dev_n>\d*))?"
    r"(?:\+(?P<local>[a-z0-9]+(?:[-_.][a-z0-9]+)*))?",
    re.IGNORECASE,
)
_PHASES = {"a": 0, "alpha": 0, "b": 1, "beta": 1, "c": 2, "rc": 2, "pre": 2, "preview": 2}


def _key(text):
    """What orders versions; None where the text is no version."""
    m = _PATTERN.fullmatch(text.strip())
    if m is None:
        return None
    release = [int(n) for n in m["release"].split(".")]
    while len(release) > 1 and release[-1] == 0:
        release.pop()
    # A development version stands before its pre-releases, these before the release, that before its post-releases.
    phase = (-1,) if m["dev"] and not m["pre"] and not m["post"] else (_PHASES[m["pre"].lower()], int(m["pre_n"] or 0)) if m["pre"] else (3,)
    post = int(m["post_n1"] or m["post_n2"] or 0) if m["post"] else -1
    dev = (0, int(m["dev_n"] or 0)) if m["dev"] else (1, 0)
    local = [(1, int(p), "") if p.isdigit() else (0, 0, p.lower()) for p in re.split(r"[-_.]", m["local"])] if m["local"] else []
    return int(m["epoch"] or 0), release, phase, post, dev, local


def _text(other):
    """'2.9', or what a tuple such as (2, 9) or ('2', '9') says."""
    return str(other) if isinstance(other, str) else ".".join(map(str, other))


def _comparison(name):
    plain = getattr(str, name)
    method = getattr(tuple, name)

    def compare(self, other):
        if not isinstance(other, (str, tuple, list)):
            raise ValueError(f"can't compare a version with {type(other).__name__}")
        mine, theirs = _key(self), _key(_text(other))
        return plain(self, _text(other)) if mine is None or theirs is None else method(mine, theirs)

    compare.__name__ = name
    return compare


class TorchVersion(str):
    """A version as text, in the order of versions: TorchVersion("2.10") > "2.9" and > (2, 9)."""

    __slots__ = ()

    for _name in ("__eq__", "__ne__", "__lt__", "__le__", "__gt__", "__ge__"):
        locals()[_name] = _comparison(_name)
    del _name
    __hash__ = str.__hash__
