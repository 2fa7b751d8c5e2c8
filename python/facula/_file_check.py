# SPDX-License-Identifier: Apache-2.0
"""torch.testing.FileCheck: whether texts stand in another text, in order. Checks are added by methods, or read from
comments (`# CHECK: …`) by run(checks, text)."""

from __future__ import annotations

import re
from collections.abc import Iterable
from typing import NamedTuple, NoReturn

__all__ = ["FileCheck"]

_KINDS = r"(|-NEXT|-SAME|-NOT|-DAG|-COUNT-(?:EXACTLY-)?\d+|-SOURCE-HIGHLIGHTED|-REGEX)"
_COMMENT = re.compile(rf"#\s*CHECK{_KINDS}:(.*)")


class _Check(NamedTuple):
    kind: str
    text: str
    count: int = 0

    def __str__(self):
        name = f"-COUNT-{self.count}" if self.kind == "-COUNT" else f"-{self.count}" if self.count else ""
        return f"CHECK{self.kind if self.kind != '-COUNT' else ''}{name}: {self.text}"


class FileCheck:
    """Builds checks, then runs them: `FileCheck().check("aten::add").check_not("aten::mul").run(graph)`."""

    def __init__(self) -> None:
        self._checks: list[_Check] = []
        self._ran = False

    def _add(self, *check) -> FileCheck:
        self._checks.append(_Check(*check))
        return self

    def check(self, text: str) -> FileCheck:
        """text stands behind the match before."""
        return self._add("", text)

    def check_not(self, text: str) -> FileCheck:
        """text does not stand between the matches before and after."""
        return self._add("-NOT", text)

    def check_same(self, text: str) -> FileCheck:
        """text stands behind the match before, on its line."""
        return self._add("-SAME", text)

    def check_next(self, text: str) -> FileCheck:
        """text stands on the line after the match before."""
        return self._add("-NEXT", text)

    def check_dag(self, text: str) -> FileCheck:
        """text stands behind the match before; checks of this kind in a row may match in any order."""
        return self._add("-DAG", text)

    def check_count(self, text: str, count: int, exactly: bool = False) -> FileCheck:
        """text stands so many times behind the match before; exactly: and not once more."""
        self._add("-COUNT", text, count)
        return self.check_not(text) if exactly else self

    def check_regex(self, pattern: str) -> FileCheck:
        """Something that the regular expression describes stands behind the match before."""
        return self._add("-REGEX", pattern)

    def check_source_highlighted(self, text: str) -> FileCheck:
        """text stands in a source whose next line marks it with as many ~."""
        return self._add("-SOURCE-HIGHLIGHTED", text)

    def run(self, *args) -> None:
        """Checks a text, or a graph's: run(text), or run(comments, text) with the checks of the comments."""
        self._ran = True
        if len(args) == 2:
            self._checks = list(_parse(str(args[0])))
        if not self._checks:
            raise RuntimeError("No checks have been added to this instance of FileCheck! Check for bad input.")
        _Search(str(args[-1]), self._checks).run()

    def __repr__(self):
        return "FileCheck checks:\n" + "".join(f"\t{check}\n" for check in self._checks)

    def __del__(self):
        if not self._ran and getattr(self, "_checks", None):
            print("You have not run this instance of FileCheck!")
            print(repr(self), end="")


def _parse(text: str) -> Iterable[_Check]:
    for line in text.splitlines():
        if not (found := _COMMENT.search(line)):
            continue
        kind, what = found[1], found[2].strip()
        if kind.startswith("-COUNT-"):
            count = int(kind.rsplit("-", 1)[1])
            yield _Check("-COUNT", what, count)
            if "EXACTLY" in kind:
                yield _Check("-NOT", what)
        else:
            yield _Check(kind, what)


class _Search:
    def __init__(self, text: str, checks: list[_Check]):
        self.text, self.checks, self.at = text, checks, 0

    def fail(self, check: _Check, what: str) -> NoReturn:
        raise RuntimeError(f"{what}From {check}\n")

    def absent(self, check: _Check, text: str, begin: int, end: int) -> None:
        at = self.text.find(text, begin, end)
        if at < 0:
            return
        first = self.text.rfind("\n", 0, at) + 1
        last = self.text.find("\n", at)
        line = self.text[first : last if last >= 0 else None]
        marks = " " * (at - first) + "~" * max(len(text), 1) + " <--- HERE"
        self.fail(check, f'Expected to not find "{text}" but found it\n{line}\n{marks}\n')

    def find(self, check: _Check, begin: int) -> tuple[int, int]:
        if check.kind == "-REGEX":
            if found := re.compile(check.text).search(self.text, begin):
                return found.span()
            self.fail(check, f'Expected to find regex "{check.text}" but did not find it\nSearched string:\n')
        at = self.text.find(check.text, begin)
        if at < 0:
            self.fail(check, f'Expected to find "{check.text}" but did not find it\nSearched string:\n{self.text[begin:]}')
        return at, at + len(check.text)

    def one(self, check: _Check) -> tuple[int, int]:
        """Where a single check matches."""
        begin, end = self.find(check, self.at)
        between = self.text[self.at : begin]
        if check.kind == "-SAME" and "\n" in between:
            self.fail(check, f'Expected to not find "\\n" but found it\n{between}\n')
        if check.kind == "-NEXT" and between.count("\n") != 1:
            what = f'Expected to not find "\\n" but found it\n{between}\n' if "\n" in between else 'Expected to find "\\n" but did not find it\\n'
            self.fail(check, what)
        if check.kind == "-COUNT":
            for _ in range(check.count - 1):
                _, end = self.find(check, end)
        if check.kind == "-SOURCE-HIGHLIGHTED":
            return self.highlighted(check)
        return begin, end

    def highlighted(self, check: _Check) -> tuple[int, int]:
        begin, end = self.find(check, self.at)
        first = self.text.rfind("\n", 0, begin) + 1
        below = self.text.find("\n", begin) + 1
        column = begin - first
        marks = self.text[below:].split("\n", 1)[0] if below else ""
        wanted = "~" * len(check.text)
        if marks[column : column + len(wanted)] != wanted or marks[column - 1 : column] == "~" or marks[column + len(wanted) : column + len(wanted) + 1] == "~":
            self.fail(check, f'Expected to find "{check.text}"highlighted but it is not.\n{marks}\n')
        return begin, end

    def run(self) -> None:
        i = 0
        while i < len(self.checks):
            absent = []
            while i < len(self.checks) and self.checks[i].kind == "-NOT":
                absent.append(self.checks[i])
                i += 1
            before = self.at
            end = len(self.text)
            if i < len(self.checks):
                if self.checks[i].kind == "-DAG":
                    spans = []
                    while i < len(self.checks) and self.checks[i].kind == "-DAG":
                        spans.append(self.find(self.checks[i], before))
                        i += 1
                    end, self.at = min(b for b, _ in spans), max(e for _, e in spans)
                else:
                    end, self.at = self.one(self.checks[i])
                    i += 1
            for check in absent:
                self.absent(check, check.text, before, end)
