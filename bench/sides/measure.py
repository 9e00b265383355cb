"""What is measured of a side at a problem, once its output is right."""
import statistics
import time

import torch

from events import median_ms
from sides.problem import Problem


def timed(run, device, seconds):
    """Median milliseconds of a call, after a warm-up."""
    run()
    if device != "cpu":
        return median_ms(run, seconds)
    times, end = [], time.perf_counter() + seconds
    while len(times) < 3 or (time.perf_counter() < end and len(times) < 1000):
        begin = time.perf_counter()
        run()
        times.append((time.perf_counter() - begin) * 1000)
    return statistics.median(times)


def in_turn(calls):
    """A call of the next of `calls` each time."""
    state = {"next": 0}

    def run():
        state["next"] += 1
        return calls[state["next"] % len(calls)]()

    return run


def forward_ms(forward, sets, device, seconds):
    calls = [lambda tensors=tensors: forward(*tensors) for tensors in sets]
    with torch.no_grad():
        return timed(in_turn(calls), device, seconds)


def gradients(output, leaves, d_o):
    return torch.autograd.grad(output, leaves, d_o, retain_graph=True)


def backward_ms(forward, sets, learned, device, seconds):
    """The backward pass alone: of q, k, v and what the variant learns, over graphs that are kept."""
    calls = []
    for tensors in sets:
        leaves = [tensor.detach().requires_grad_() for tensor in tensors]
        output = forward(*leaves)
        calls.append(lambda output=output, leaves=(*leaves, *learned), d_o=torch.randn_like(output): gradients(output, leaves, d_o))
    return timed(in_turn(calls), device, seconds)


def peak_bytes(forward, tensors, learned, with_backward):
    """Memory that a training step, or a forward pass, takes at its peak beyond its inputs. CUDA only."""
    leaves = [tensor.detach().requires_grad_(with_backward) for tensor in tensors]
    torch.cuda.synchronize()
    before = torch.cuda.memory_allocated()
    torch.cuda.reset_peak_memory_stats()
    output = forward(*leaves)
    if with_backward:
        torch.autograd.grad(output, (*leaves, *learned), torch.ones_like(output))
    torch.cuda.synchronize()
    return torch.cuda.max_memory_allocated() - before


TURNS, CALLS = 100, 50  # of CallTimes


class CallTimes:
    """Microseconds of the CPU that a forward call of each side takes before it returns, at a size that keeps no GPU busy."""

    def __init__(self, sides, problem):
        self.calls, self.device = {}, problem.device
        small = Problem(problem.name, problem.variant, problem.batch, problem.heads, problem.kv_heads, 128, problem.head_dim, problem.dtype,
                        problem.device)
        for side in sides:
            with side.within():
                self.calls[side] = side.prepare(small), small.inputs()
                self._turn(side)  # compiles

    def _turn(self, side):
        forward, tensors = self.calls[side]
        times = []
        with torch.no_grad():
            for _ in range(CALLS):
                begin = time.perf_counter()
                forward(*tensors)
                times.append((time.perf_counter() - begin) * 1e6)
        if self.device == "cuda":
            torch.cuda.synchronize()
        return times

    def medians(self):
        """By name of a side. They take turns, since a CPU whose other cores were busy is slower for seconds."""
        times = {side: [] for side in self.calls}
        for _ in range(TURNS):
            for side, of in times.items():
                with side.within():
                    of += self._turn(side)
        return {side.name: statistics.median(of) for side, of in times.items()}
