# SPDX-License-Identifier: Apache-2.0
"""The picture of `facula blas`: one row per product, one mark per library, from nothing to the processor's peak."""

from html import escape

from facula._blas import threads_of, winner

# Told apart by people who see few colours, too (Okabe and Ito); beyond eight the marks change.
COLOURS = ("#0072b2", "#d55e00", "#009e73", "#cc79a7", "#e69f00", "#56b4e9", "#000000", "#8c6d31")
LEFT, WIDTH, ROW, TOP = 240, 640, 17, 96


def _mark(at, y, index, title):
    look = f'fill="{COLOURS[index % len(COLOURS)]}" fill-opacity="0.85" stroke="#fff" stroke-width="0.7"'
    name, place = ("circle", f'cx="{at:.1f}" cy="{y}" r="4.5"') if index < len(COLOURS) else ("rect", f'x="{at - 4:.1f}" y="{y - 4}" width="8" height="8"')
    return f"<{name} {place} {look}><title>{escape(title)}</title></{name}>"


def _step(top):
    """A round distance between lines, for six to twelve of them."""
    return next(s for e in range(-3, 9) for s in (10**e, 2 * 10**e, 5 * 10**e) if top / s <= 12)


def picture(data) -> str:
    machine, labels = data["machine"], [library["label"] for library in data["libraries"]]
    peak = machine["peak_gflops"]
    top = max([peak] + [rate for row in data["shapes"].values() for rate in row["gflops"].values()])
    x = lambda rate: LEFT + WIDTH * rate / top
    legend_rows = (len(labels) + 3) // 4
    y = TOP + 18 * legend_rows
    first, out = y, []

    def text(at, height, words, anchor="start", size=11, weight="normal", colour="#222"):
        out.append(f'<text x="{at:.1f}" y="{height}" text-anchor="{anchor}" font-size="{size}" font-weight="{weight}" fill="{colour}">{escape(words)}</text>')

    def row(title, times, rates, noise):
        nonlocal y
        y += ROW
        out.append(f'<line x1="{x(min(rates)):.1f}" y1="{y}" x2="{x(max(rates)):.1f}" y2="{y}" stroke="#bbb" stroke-width="1.5"/>')
        text(LEFT - 44, y + 4, title, "end")
        text(LEFT - 12, y + 4, times, "end", colour="#666")
        for i, rate in sorted(enumerate(rates), key=lambda pair: pair[1]):
            out.append(_mark(x(rate), y, i, f"{labels[i]}: {rate:.1f} GFLOP/s"))
        best = winner(rates, noise)
        text(LEFT + WIDTH + 12, y + 4, "–" if best is None else labels[best], size=10, colour="#666")

    text(LEFT + WIDTH + 12, first + 14, "best by more than the noise", size=10, colour="#666")
    for name, model in data["models"].items():
        y += 22
        text(12, y, name, size=12, weight="bold")
        for entry in model["shapes"]:
            measured = data["shapes"][entry["shape"]]
            row(entry["shape"], f"× {entry['times']}", [measured["gflops"][l] for l in labels], measured["noise"])
    y += 22
    text(12, y, "geometric mean", size=12, weight="bold")
    means = [data["geometric_mean"][l] for l in labels]
    row("all shapes", "", means, data["noise"]["median"])
    for i, l in sorted(enumerate(labels), key=lambda pair: -means[pair[0]]):
        y += 16
        text(LEFT - 10, y + 4, l, "end", colour=COLOURS[i % len(COLOURS)], weight="bold")
        text(LEFT, y + 4, f"{means[i]:.1f} GFLOP/s, {100 * means[i] / peak:.0f} % of the peak")
    last = y - 16 * len(labels) + 8

    lines = []
    step = _step(top)
    for i in range(int(top / step) + 1):
        at = x(i * step)
        lines.append(f'<line x1="{at:.1f}" y1="{first}" x2="{at:.1f}" y2="{last}" stroke="#e4e4e4"/>')
        text(at, first - 6, f"{i * step:g}", "middle", size=10, colour="#666")
    lines.append(f'<line x1="{x(peak):.1f}" y1="{first}" x2="{x(peak):.1f}" y2="{last}" stroke="#c00" stroke-dasharray="5 4"/>')
    text(x(peak), last + 14, f"peak {peak:.0f}", "end", size=10, colour="#c00")
    text(12, 26, "Who multiplies fastest here?", size=17, weight="bold")
    text(12, 46, f"float32 products, GFLOP/s (more is better), {threads_of(machine)}")
    noise = data["noise"]
    text(12, 62, f"the fastest of {data['rounds']} runs, in turns; {labels[0]} against itself: {100 * noise['median']:.1f} % at the median, "
         f"{100 * noise['largest']:.1f} % at most", colour="#666")  # fmt: skip
    for i, l in enumerate(labels):
        at, height = 18 + 215 * (i % 4), 84 + 18 * (i // 4)
        out.append(_mark(at, height - 4, i, l))
        text(at + 10, height, l)
    width, height = LEFT + WIDTH + 160, y + 30
    return (f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width} {height}" width="{width}" height="{height}" font-family="Helvetica, Arial, sans-serif">\n'
            f'<title>Matrix products on {escape(machine["processor"])}</title>\n<rect width="100%" height="100%" fill="#fff"/>\n' + "\n".join(lines + out) + "\n</svg>\n")  # fmt: skip
