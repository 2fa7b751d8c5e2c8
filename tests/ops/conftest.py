# SPDX-License-Identifier: Apache-2.0
"""After a run with failures: how each family of operators did, role by role."""
import re


def pytest_terminal_summary(terminalreporter):
    from table import OPS
    counts, roles = {}, []
    for outcome in ("passed", "failed", "xfailed", "error"):
        for report in terminalreporter.stats.get(outcome, ()):
            match = re.match(r".*test_ops\.py::test_(\w+)\[([^/\]]+)", report.nodeid)
            if match and match[2] in OPS and (report.when == "call" or outcome == "error"):
                role, family = match[1], OPS[match[2]].group
                roles += [role] if role not in roles else []
                cell = counts.setdefault(family, {}).setdefault(role, [0, 0])
                cell[outcome in ("failed", "error")] += 1
    if not any(bad for row in counts.values() for _, bad in row.values()):
        return
    terminalreporter.write_sep("=", "operators that fail, of all, by family and role")
    terminalreporter.write_line("family".ljust(12) + "".join(r.rjust(14) for r in roles))
    for family, row in counts.items():
        cells = (row.get(role) for role in roles)
        terminalreporter.write_line(family.ljust(12) + "".join((f"{c[1]}/{sum(c)}" if c else "").rjust(14) for c in cells))
