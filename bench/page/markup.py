"""The page: one HTML file that loads nothing."""
import html
import re

STYLE = """
:root { --ink: #23211f; --soft: #6d6862; --line: #e3dfd8; --paper: #fffdf9; --accent: #c2571a; }
body { font: 15px/1.5 system-ui, sans-serif; color: var(--ink); background: var(--paper); margin: 0 auto; max-width: 1120px;
       padding: 2rem 1.5rem 4rem; }
h1 { font-size: 2rem; margin: 0; } h2 { margin: 3rem 0 .5rem; border-bottom: 2px solid var(--line); } h3 { margin: 0; }
p, figcaption { color: var(--soft); max-width: 80ch; } figure { margin: 1rem 0 2rem; } svg { max-width: 100%; height: auto; }
code, pre { font: 12.5px/1.45 ui-monospace, monospace; } pre { overflow-x: auto; background: #f6f2ea; padding: .8rem; border-radius: 6px; }
table { border-collapse: collapse; } th, td { padding: .3rem 1.2rem .3rem 0; border-bottom: 1px solid var(--line); text-align: right; }
th:first-child, td:first-child { text-align: left; }
nav a { margin-right: 1rem; color: var(--accent); }
.gallery { display: grid; grid-template-columns: repeat(auto-fill, minmax(480px, 1fr)); gap: 1.5rem; }
.card { border: 1px solid var(--line); border-radius: 10px; padding: 1rem; background: #fff; }
.card .map { float: right; width: 170px; margin: 0 0 .5rem 1rem; } .card p { margin: .3rem 0 .6rem; }
.card pre { clear: both; } dl { display: grid; grid-template-columns: max-content 1fr; gap: .1rem .8rem; margin: .5rem 0; }
dt { color: var(--soft); } dd { margin: 0; }
@media (max-width: 560px) { .gallery { grid-template-columns: 1fr; } .card .map { float: none; } }
"""


def figure(name, picture, caption):
    return f'<figure id="{name}" class="chart">{picture}<figcaption>{caption}</figcaption></figure>'


def table(name, head, rows, caption):
    line = lambda tag, cells: "<tr>" + "".join(f"<{tag}>{html.escape(cell)}</{tag}>" for cell in cells) + "</tr>"
    content = line("th", head) + "".join(line("td", row) for row in rows)
    return f'<figure id="{name}"><table>{content}</table><figcaption>{caption}</figcaption></figure>'


def description(text):
    """The comment that a spec begins with, and the rest."""
    lines = text.split("\n")
    count = next((i for i, line in enumerate(lines) if not line.startswith("#")), len(lines))
    return " ".join(line.lstrip("# ") for line in lines[:count]), "\n".join(lines[count:]).strip()


def without_names(svg):
    """Several pictures in one page may not share ids."""
    return re.sub(r"<\?xml.*?\?>", "", svg)


def card(entry, measured):
    words, spec = description(entry.text)
    facts = entry.facts
    share = entry.share
    rows = [("plan", facts["plan"].replace(" q_in_registers=0", "")),
            ("tiles computed", f"{share:.1%} of the dense tiles"),
            ("predicted", f"{facts['predicted_ms']:.3f} ms"),
            ("bound", f"{entry.bound_ms:.3f} ms, by the tensor cores, exp2 or memory")]
    if measured is not None:
        rows.append(("measured", f"{measured:.3f} ms: {entry.bound_ms / measured:.0%} of the bound"))
    terms = "".join(f"<dt>{name}</dt><dd>{html.escape(value)}</dd>" for name, value in rows)
    return (f'<article class="card" id="spec-{entry.name}"><div class="map">{without_names(entry.picture)}</div>'
            f"<h3>{html.escape(entry.name)}</h3><p>{html.escape(words)}</p><dl>{terms}</dl><pre>{html.escape(spec)}</pre></article>")


def page(title, lead, sections):
    """`sections`: id, heading, words, content."""
    links = "".join(f'<a href="#{name}">{html.escape(heading)}</a>' for name, heading, _, _ in sections)
    body = "".join(f'<section id="{name}"><h2>{html.escape(heading)}</h2><p>{words}</p>{content}</section>'
                   for name, heading, words, content in sections)
    return (f'<!doctype html><html lang="en"><head><meta charset="utf-8"><meta name="viewport" content="width=device-width">'
            f"<title>{html.escape(title)}</title><style>{STYLE}</style></head><body><h1>{html.escape(title)}</h1><p>{lead}</p>"
            f"<nav>{links}</nav>{body}</body></html>\n")
