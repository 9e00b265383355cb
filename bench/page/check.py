#!/usr/bin/env python3
"""Opens the report in headless Chromium, as a reader would, and says what is not there.

    bench/page/check.py FILE [--browser chromium]

Every chart that page/figures.py asks for and every spec's tile map must be drawn, large enough to be read and with shapes in it, every table
must have its lines; each spec of specs/ must have its card, with its text; the page must load nothing from elsewhere.
"""
import argparse
import html
import json
import pathlib
import re
import subprocess
import sys
import tempfile

import figures

ROOT = pathlib.Path(__file__).resolve().parent.parent.parent
# Runs in the page: the sizes of its pictures as they are laid out, and how many shapes each has.
PROBE = """<script>
addEventListener("load", () => {
  const look = (name, box) => {
    const svg = box && box.querySelector("svg"), size = svg ? svg.getBoundingClientRect() : { width: 0, height: 0 };
    return { name, width: size.width, height: size.height, shapes: svg ? svg.querySelectorAll("path, rect, line, use").length : 0,
             lines: box ? [...box.querySelectorAll("tr")].map(line => [...line.children].map(cell => cell.innerText)) : [],
             text: box ? box.innerText : "" };
  };
  const found = { charts: [...document.querySelectorAll("figure")].map(box => look(box.id, box)),
                  cards: [...document.querySelectorAll("article")].map(box => look(box.id, box)),
                  loaded: performance.getEntriesByType("resource").map(entry => entry.name) };
  const out = document.createElement("pre");
  out.id = "found";
  out.textContent = JSON.stringify(found);
  document.body.append(out);
});
</script>"""


def opened(page, browser):
    """What the probe finds in the page."""
    with tempfile.TemporaryDirectory() as folder:
        copy = pathlib.Path(folder) / "page.html"
        copy.write_text(page.read_text(encoding="utf-8").replace("</body>", PROBE + "</body>"), encoding="utf-8")
        call = [browser, "--headless", "--no-sandbox", "--disable-gpu", f"--user-data-dir={folder}/profile", "--window-size=1200,900",
                "--virtual-time-budget=5000", "--dump-dom", copy.as_uri()]
        done = subprocess.run(call, capture_output=True, text=True, timeout=120)
    match = re.search(r'<pre id="found">(.*?)</pre>', done.stdout, re.DOTALL)
    if match is None:
        sys.exit(f"{browser} did not open {page} (status {done.returncode}): {done.stderr.strip()[-600:]}")
    return json.loads(html.unescape(match[1]))


def why_not_drawn(figure):
    """What is wrong with a figure, or nothing."""
    if figure["name"].startswith("table-"):
        if len(figure["lines"]) < 4 or not all(cell for line in figure["lines"][1:] for cell in line):
            return f"{len(figure['lines'])} lines, some of them empty"
    elif figure["width"] < 300 or figure["height"] < 100 or figure["shapes"] < 10:
        return f"{figure['width']:.0f} x {figure['height']:.0f}, {figure['shapes']} shapes"
    return None


def problems(found, specs, required):
    """What a page lacks. `found`: what the probe says, `required`: ids of figures."""
    charts = {chart["name"]: chart for chart in found["charts"]}
    cards = {card["name"]: card for card in found["cards"]}
    for name in required:
        if name not in charts:
            yield f"the figure {name} is missing"
        elif why := why_not_drawn(charts[name]):
            yield f"the figure {name} is not drawn: {why}"
    for spec in specs:
        card = cards.get(f"spec-{spec}")
        if card is None:
            yield f"{spec} has no card"
            continue
        if card["width"] < 100 or card["height"] < 100 or card["shapes"] < 2:
            yield f"the tile map of {spec} is not drawn: {card['width']:.0f} x {card['height']:.0f}, {card['shapes']} shapes"
        for words in (f"attention {spec}", "predicted", "tile_q="):
            if words not in card["text"]:
                yield f"the card of {spec} does not say {words!r}"
    for name in found["loaded"]:
        yield f"the page loads {name}"


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("page", type=pathlib.Path, metavar="FILE")
    parser.add_argument("--browser", default="chromium")
    arguments = parser.parse_args()
    found = opened(arguments.page, arguments.browser)
    specs = sorted(spec.stem for spec in (ROOT / "specs").glob("*.fa"))
    wrong = list(problems(found, specs, figures.required(ROOT / "bench/results")))
    for problem in wrong:
        print(problem, file=sys.stderr)
    print(f"{len(found['charts'])} figures and {len(found['cards'])} specs, {len(wrong)} problems")
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
