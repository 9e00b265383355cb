"""Times on a GPU, by events."""
import statistics

import torch


def median_ms(run, seconds=0.25):
    """Median of launches timed by events, after a warm-up, as `facet bench` times its own: all are enqueued before the first is waited
    for, so that the GPU never waits for Python. `run` takes other inputs each time, so many that no L2 holds them."""
    def times(count):
        events = [[torch.cuda.Event(enable_timing=True) for _ in range(2)] for _ in range(count)]
        for begin, end in events:
            begin.record()
            run()
            end.record()
        torch.cuda.synchronize()
        return [begin.elapsed_time(end) for begin, end in events]

    once = statistics.median(times(5)[2:])
    return statistics.median(times(max(10, min(1000, int(seconds * 1000 / once)))))
