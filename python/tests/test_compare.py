"""bench/compare.py: it checks outputs before it times them, and its record says what each side did."""

import json
import pathlib
import subprocess
import sys

import pytest
import torch

import facet.torch

BENCH = pathlib.Path(__file__).parents[2] / "bench"
sys.path.insert(0, str(BENCH))

from flex import further, shipped  # noqa: E402
from sides import measure  # noqa: E402
from sides.libraries import SIDES  # noqa: E402
from flex.variant import Variant  # noqa: E402
from sides.problem import Problem  # noqa: E402


def problem(name="t5_bias", length=48):
    return Problem(name, shipped.variants(length, "cpu")[name], 2, 16, 16, length, 16, "f32", "cpu")


def learned_problem():
    of = problem()
    for tensor in of.variant.learned:
        tensor.requires_grad_()
    return of


def output_of(name, of, tensors):
    side = next(side for side in SIDES if side.name == name)
    assert side.why_not(of) is None
    return side.prepare(of)(*tensors)


def test_each_further_variant_has_its_spec():
    for name, variant in further.variants(48, "cpu").items():
        assert pathlib.Path(variant.spec).is_file(), name


@pytest.mark.parametrize("name", ["tree", "neighbourhood_2d", "dilated_4"])
def test_shipped_variants_are_their_specs(name):
    of = problem(name, 96)
    q, k, v = of.inputs()
    tensors = {"ancestors": (torch.arange(96)[:, None] + 1 >> torch.arange(12)) - 1} if name == "tree" else {}
    tensors = {key: value.to(torch.int32) for key, value in tensors.items()}
    params = {"window": 96} if name == "dilated_4" else {}
    spec = facet.Spec.load(BENCH.parent / "specs" / f"{of.variant.spec}.fa")
    torch.testing.assert_close(facet.torch.attention(q, k, v, spec, **tensors, **params), output_of("facet", of, (q, k, v)))


def test_call_times_are_those_of_each_side(monkeypatch):
    monkeypatch.setattr(measure, "TURNS", 2)
    monkeypatch.setattr(measure, "CALLS", 3)
    times = measure.CallTimes([side for side in SIDES if side.name in ("facet, spec", "standard")], problem()).medians()
    assert set(times) == {"facet, spec", "standard"} and all(microseconds > 0 for microseconds in times.values())


@pytest.mark.parametrize("name", ["facet", "facet, spec", "facet, standard", "standard"])
def test_right_outputs_pass(name):
    of = problem()
    tensors = of.inputs()
    assert of.why_wrong(output_of(name, of, tensors), *tensors) is None


def test_wrong_outputs_are_named():
    of = problem()
    tensors = of.inputs()
    right = output_of("standard", of, tensors)
    for wrong in (right * 1.001, output_of("standard", problem("relative_bias"), tensors), torch.full_like(right, torch.nan)):
        assert "off by" in of.why_wrong(wrong, *tensors)


@pytest.mark.parametrize("name", ["facet", "facet, spec", "standard"])
def test_right_gradients_pass(name):
    of = learned_problem()
    side = next(side for side in SIDES if side.name == name)
    assert of.why_gradients_wrong(side.prepare(of), *of.inputs()) is None


def test_wrong_gradients_are_named():
    of = learned_problem()
    forward = next(side for side in SIDES if side.name == "standard").prepare(of)
    q, k, v = of.inputs()
    assert "dq is off by" in of.why_gradients_wrong(lambda q, k, v: forward(q.detach() + q * 0, k, v), q, k, v)
    assert "dk is off by" in of.why_gradients_wrong(lambda q, k, v: forward(q, k + 1e-3 * (k - k.detach()), v), q, k, v)
    (table,) = of.variant.learned
    half = lambda q, k, v: forward(q, k, v) + 1e-3 * table.sum()
    assert "of what it learns is off by" in of.why_gradients_wrong(half, q, k, v)


def test_empty_rows_have_gradients_of_zero():
    padded = Variant("padded", mask_mod=lambda b, h, q, k: (q >= 5) & (k >= 5) & (q >= k))
    of = Problem("padded", padded, 2, 16, 16, 48, 16, "f32", "cpu")
    assert of.why_gradients_wrong(next(side for side in SIDES if side.name == "facet").prepare(of), *of.inputs()) is None


def test_sides_say_what_they_do_not_take():
    taken = {side.name for side in SIDES if side.why_not(problem()) is None}
    assert taken == {"facet", "facet, spec", "facet, standard", "flex", "standard"}


def test_lengths_are_those_of_a_problem(run_script):
    done = run_script(BENCH / "compare.py", "--device", "cpu", "--rows", "dense", "--lengths", "512", "1000")
    assert done.returncode == 2 and "no dense or causal problem has length 1000: choose from 512, 2048" in done.stderr


def test_a_run_writes_its_record(tmp_path):
    record = tmp_path / "record.json"
    command = [sys.executable, str(BENCH / "compare.py"), "--device", "cpu", "--rows", "variants", "--only", "alibi_causal", "--length", "64",
               "--sides", "facet", "standard", "fa2", "--backward", "--cold", "--rounds", "1", "--seconds", "0.01", "--json", str(record)]
    done = subprocess.run(command, capture_output=True, text=True)
    assert done.returncode == 0, done.stdout + done.stderr
    (row,) = json.loads(record.read_text(encoding="utf-8"))["rows"]
    assert row["sides"]["fa2"] == {"not_taken": "GPUs only"}
    for name in ("facet", "standard"):
        found = row["sides"][name]
        assert all(found[key] > 0 for key in ("ms", "backward_ms", "first_call_s")), (name, found)
        assert name in done.stdout
