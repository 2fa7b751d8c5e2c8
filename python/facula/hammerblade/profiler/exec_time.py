# SPDX-License-Identifier: Apache-2.0
"""Where the time of the region went: tables and trees in the port's formats.

Times are measured. With trimming, what a device did counts as the time that the device itself tells (simulated, or counted
by its clock); where no device tells any, the output says so.
"""

from facula.hammerblade.profiler import _region


def _rows(trimming: bool) -> tuple[list[tuple[str, float]], _region.Region]:
    """(name, inclusive microseconds) of what the program calls, in the order of signatures; then the rest and the whole."""
    region = _region.last()
    trims = region.trims(trimming)
    times: dict[str, float] = {}
    for label, node in sorted(region.root.children.items()):
        name = "aten::" + label.partition("(")[0].rpartition("::")[2]
        times[name] = times.get(name, 0) + node.time(trims)
    rest = {"aten::other": region.root.own / 1000, "aten::ROI": region.root.time(trims)}
    return [*times.items(), *rest.items()], region


def _share(time: float, whole: float) -> float:
    return 100 * time / whole if whole else 0.0


def fancy_print(trimming: bool = False) -> str:
    """A table: milliseconds and share of every operator that the program calls."""
    rows, region = _rows(trimming)
    text = "".join(f"{name:30}     {time / 1000:.2f} {_share(time, rows[-1][1]):.1f}%\n" for name, time in rows)
    note = region.trimming_note(trimming)
    return text + (f"({note})\n" if note else "")


def latex_table(trimming: bool = False) -> str:
    """The same as a LaTeX table."""
    rows, region = _rows(trimming)
    note = region.trimming_note(trimming)
    lines = [f"% {note}"] if note else []
    lines += [r"\begin{table}[t]", r"\begin{tabular}{lrr}", r"\toprule", r"& \textbf{Time} & \textbf{Percent} \\"]
    lines += [r"\textbf{Kernel} & \textbf{(s)} & \textbf{of Total} \\ \midrule"]
    for name, time in rows:
        escaped = name.replace("_", r"\_")
        lines.append(rf"\textbf{{{escaped:30}}} &  {time / 1000:.2f} & {_share(time, rows[-1][1]):.1f}\% \\")
    lines += [r"\bottomrule", r"\end{tabular}", r"\label{tbl-plat}", r"\end{table}", ""]
    return "\n".join(lines)


def raw_stack(trimming: bool = False) -> str:
    """A tree of everything that ran, with inclusive microseconds."""
    region = _region.last()
    trims = region.trims(trimming)
    lines = []

    def show(node, depth):
        lines.append(f"{'  ' * depth}|- Node({node.name} : {round(node.time(trims), 3)})")
        if node.simulated is not None:
            lines.append(f"{'  ' * (depth + 1)}|- Node(@TRIM@ : {round(node.simulated / 1000, 3) if trims else 0})")
        for _, kid in sorted(node.children.items()):
            show(kid, depth + 1)

    show(region.root, 0)
    note = region.trimming_note(trimming)
    return "\n".join(lines + ([f"({note})"] if note else []))


def raw_dump() -> str:
    """One line for each distinct stack, `outer<|>inner;microseconds`, exclusive, sorted: what the port's C++ side prints."""
    lines = []

    def show(node, path):
        lines.append(f"{path};{node.own / 1000:.3f}".rstrip("0").rstrip("."))
        if node.simulated is not None:
            lines.append(f"{path}<|>@TRIM@;{node.simulated / 1000:.3f}".rstrip("0").rstrip("."))
        for name, kid in sorted(node.children.items()):
            show(kid, f"{path}<|>{name}")

    show(_region.last().root, "ROI")
    return "".join(line + "\n" for line in lines)


def roi_time(trimming: bool = False) -> float:
    """Microseconds from enable to disable."""
    return exec_time_dict(trimming)["aten::ROI"]


def exec_time_dict(trimming: bool = False) -> dict[str, float]:
    """Microseconds of every operator that the program calls, of the rest ("aten::other") and the whole ("aten::ROI")."""
    rows, region = _rows(trimming)
    if note := region.trimming_note(trimming):
        _region.warn(f"torch.hammerblade.profiler: {note}")
    return dict(rows)
