"""Curves of figures by message size as one SVG page: a panel a test, a line a library, both axes logarithmic. Standard library only."""
import math

PANELS = [('latency', 'half round trip, us'), ('bw', 'one way, GB/s'), ('bibw', 'both ways, GB/s')]
COLOURS = ['#c0392b', '#2c7fb8', '#7fbf7b', '#8856a7', '#d9a441', '#666666']
WIDTH, HEIGHT, LEFT, TOP = 380, 300, 60, 40


def powers(low, high, base):
    return [base ** e for e in range(math.floor(math.log(low, base) + 1e-9), math.ceil(math.log(high, base) - 1e-9) + 1)]


def size_name(n):
    return f'{n >> 20}M' if n >= 1 << 20 else f'{n >> 10}K' if n >= 1 << 10 else str(n)


def panel(rows, names, title, at):
    """One panel, its left upper corner at (at, 0)."""
    sizes = [r['bytes'] for r in rows]
    values = [s['median'] for r in rows for s in r['values'].values() if s['median'] > 0]
    x_marks, y_marks = powers(min(sizes), max(sizes), 8), powers(min(values), max(values), 10)
    x_low, x_high = math.log(min(sizes)), math.log(max(max(sizes), 2 * min(sizes)))
    y_low, y_high = math.log(y_marks[0]), math.log(max(y_marks[-1], 10 * y_marks[0]))
    x_of = lambda n: at + LEFT + (math.log(n) - x_low) / (x_high - x_low) * (WIDTH - LEFT - 15)
    y_of = lambda v: TOP + (y_high - math.log(v)) / (y_high - y_low) * (HEIGHT - TOP - 40)
    out = [f'<text x="{at + LEFT}" y="{TOP - 12}" font-weight="bold">{title}</text>']
    for v in y_marks:
        out.append(f'<path d="M{at + LEFT} {y_of(v):.1f}H{at + WIDTH - 15}" stroke="#ddd"/><text x="{at + LEFT - 6}" y="{y_of(v) + 4:.1f}" text-anchor="end">{v:g}</text>')
    for n in x_marks:
        if x_low <= math.log(n) <= x_high:
            out.append(f'<text x="{x_of(n):.1f}" y="{HEIGHT - 22}" text-anchor="middle">{size_name(n)}</text>')
    for name, colour in zip(names, COLOURS):
        points = [f"{x_of(r['bytes']):.1f},{y_of(r['values'][name]['median']):.1f}" for r in rows if r['values'].get(name, {}).get('median', 0) > 0]
        out.append(f'<polyline points="{" ".join(points)}" fill="none" stroke="{colour}" stroke-width="{2.5 if name == "mpt" else 1.5}"/>')
    return out


def page(rows, names):
    panels = [(title, sorted((r for r in rows if r['test'] == test), key=lambda r: r['bytes'])) for test, title in PANELS]
    panels = [(title, of) for title, of in panels if of]
    width = max(1, len(panels)) * WIDTH
    out = [f'<svg xmlns="http://www.w3.org/2000/svg" width="{width}" height="{HEIGHT + 30}" font-family="sans-serif" font-size="12">',
           f'<rect width="{width}" height="{HEIGHT + 30}" fill="white"/>']
    for i, (title, of) in enumerate(panels): out += panel(of, names, title, i * WIDTH)
    for i, (name, colour) in enumerate(zip(names, COLOURS)):
        out.append(f'<path d="M{20 + i * 130} {HEIGHT + 10}h20" stroke="{colour}" stroke-width="3"/><text x="{45 + i * 130}" y="{HEIGHT + 14}">{name}</text>')
    return '\n'.join(out + ['</svg>']) + '\n'
