"""The check of the report's page (bench/page/check.py) misses no figure; scripts/report --check opens the page itself."""

import pathlib
import sys

import pytest

sys.path.insert(0, str(pathlib.Path(__file__).parents[2] / "bench" / "page"))
import check  # noqa: E402  from bench/page
import figures  # noqa: E402


def drawn(name):
    lines = [["", "ms"], ["a", "1"], ["b", "2"], ["c", "3"]] if name.startswith("table-") else []
    return {"name": name, "width": 600, "height": 300, "shapes": 40, "lines": lines, "text": ""}


def page(names, specs=("full",)):
    cards = [drawn(f"spec-{spec}") | {"text": f"attention {spec} predicted tile_q=64"} for spec in specs]
    return {"charts": [drawn(name) for name in names], "cards": cards, "loaded": []}


def test_a_whole_page_has_no_problems():
    assert list(check.problems(page(figures.ALWAYS), ["full"], figures.ALWAYS)) == []


@pytest.mark.parametrize("name", [*figures.ALWAYS, *figures.BY_RECORD])
def test_each_figure_is_missed(name):
    required = [*figures.ALWAYS, *figures.BY_RECORD]
    found = page([other for other in required if other != name])
    assert list(check.problems(found, ["full"], required)) == [f"the figure {name} is missing"]


@pytest.mark.parametrize(
    ("name", "broken"),
    [("chart-tile-kv", {"shapes": 3}), ("chart-forward", {"width": 0}), ("table-gpt2", {"lines": [["", "ms"]]}), ("table-gpt2", {"lines": [["", "ms"], ["a", ""], ["b", "2"], ["c", "3"]]})],
)
def test_a_figure_that_is_not_drawn_is_told(name, broken):
    found = page(figures.ALWAYS)
    next(chart for chart in found["charts"] if chart["name"] == name).update(broken)
    (problem,) = check.problems(found, ["full"], figures.ALWAYS)
    assert problem.startswith(f"the figure {name} is not drawn: ")


def test_a_record_asks_for_its_figure(tmp_path):
    assert figures.required(tmp_path) == list(figures.ALWAYS)
    for name, record in figures.BY_RECORD.items():
        (tmp_path / f"{record}.json").write_text("{}", encoding="utf-8")
        assert figures.required(tmp_path)[-1] == name


def test_what_the_page_loads_and_lacks_of_specs_is_told():
    found = page(figures.ALWAYS) | {"loaded": ["https://example.org/a.js"]}
    assert list(check.problems(found, ["causal", "full"], figures.ALWAYS)) == ["causal has no card", "the page loads https://example.org/a.js"]
