"""What the measurements share: a call of `facet bench`, their common options, and the record that they write."""
import argparse
import datetime
import json
import os
import platform
import shlex
import statistics
import subprocess
import sys
import tempfile
import time

SPECS = os.path.relpath(os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "specs"))


# What keeps Facet, ATen with TorchInductor, oneDNN and MKL from newer instructions. TorchInductor has a cache of its own: what it
# compiled for newer ones crashes in such a process (PyTorch 2.13).
LEVELS = {"avx2": {"FA_CPU": "avx2", "ATEN_CPU_CAPABILITY": "avx2", "ONEDNN_MAX_CPU_ISA": "AVX2", "MKL_ENABLE_INSTRUCTIONS": "AVX2",
                   "TORCHINDUCTOR_CACHE_DIR": os.path.join(tempfile.gettempdir(), f"torchinductor_{os.getuid()}_avx2")}}


def cpu_name():
    with open("/proc/cpuinfo") as lines:
        return next((line.split(":")[1].strip() for line in lines if line.startswith("model name")), platform.processor())


def time_ms(run, summary, seconds=0.5):
    """Milliseconds of one call: `summary` of those that fit into so many seconds."""
    run()
    times = []
    while len(times) < 5 or (sum(times) < seconds * 1000 and len(times) < 100):
        begin = time.perf_counter()
        run()
        times.append((time.perf_counter() - begin) * 1000)
    return summary(times)


def ranks(values):
    """Ranks from 0; equal values share the mean of theirs."""
    order = sorted(range(len(values)), key=values.__getitem__)
    result, at = [0.0] * len(values), 0
    while at < len(order):
        end = at
        while end < len(order) and values[order[end]] == values[order[at]]:
            end += 1
        for i in order[at:end]:
            result[i] = (at + end - 1) / 2
        at = end
    return result


def spearman(x, y):
    """Spearman's rank correlation."""
    return statistics.correlation(ranks(x), ranks(y))


def parser(description):
    options = argparse.ArgumentParser(description=description, formatter_class=argparse.RawDescriptionHelpFormatter)
    options.add_argument("--facet", required=True, help="the facet command")
    options.add_argument("--json", help="write the results here")
    options.add_argument("--commit", default="", help="the commit the command was built from, for the record")
    return options


def call_facet(*command):
    """Returns what the command printed; raises RuntimeError with its message where it fails."""
    done = subprocess.run(command, capture_output=True, text=True)
    if done.returncode != 0:
        raise RuntimeError(f"{' '.join(command)}\n{(done.stdout + done.stderr).strip()[-600:]}")
    return done.stdout


def spec_names(only=None):
    """The specs of specs/ by name, or those of them that `only` lists."""
    found = sorted(name[:-3] for name in os.listdir(SPECS) if name.endswith(".fa"))
    return [name for name in found if not only or name in only]


def facet_bench(facet, spec, shape, dtype, *extra, device="cuda", milliseconds=250, may_fail=False):
    """The JSON of `facet bench` for a spec of specs/ or a file, shape (batch, heads, length, head_dim). Raises RuntimeError where it fails;
    with `may_fail` only where nothing could be timed at all: lines that failed have an "error"."""
    batch, heads, n, d = shape
    file = spec if spec.endswith(".fa") else os.path.join(SPECS, spec + ".fa")
    with tempfile.NamedTemporaryFile(suffix=".json") as out:
        try:
            call_facet(facet, "bench", file, "--device", device, "--batch", str(batch), "--heads", str(heads), "--q-len", str(n),
                       "--head-dim", str(d), "--dtype", dtype, "--time", str(milliseconds), "--json", out.name, *extra)
        except RuntimeError:
            if not may_fail or os.path.getsize(out.name) == 0:
                raise
        return json.load(open(out.name, encoding="utf-8"))


def facet_tune(facet, spec, arguments, environment, *extra):
    """What one search by `facet tune` found for a spec of specs/, as its JSON has it; its store is its own. Raises SystemExit where it fails."""
    with tempfile.TemporaryDirectory() as folder:
        out = os.path.join(folder, "out.json")
        done = subprocess.run([facet, "tune", os.path.join(SPECS, spec + ".fa"), *arguments, *extra, "--json", out],
                              capture_output=True, text=True, env={**environment, "FA_TUNE_DIR": os.path.join(folder, "tuned")})
        if done.returncode != 0:
            raise SystemExit(f"facet tune {spec}\n{(done.stdout + done.stderr).strip()[-600:]}")
        return json.load(open(out, encoding="utf-8"))["results"][0]


def portable(command):
    """A command as records have it. Of a file that it names by an absolute path it keeps the name: folders differ from machine to machine."""
    def name(word):
        option, equals, value = word.partition("=") if word.startswith("-") else ("", "", word)
        return option + equals + (os.path.basename(value) if os.path.isabs(value) else value)

    script, *words = command
    folder = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
    return shlex.join([os.path.relpath(os.path.abspath(script), folder), *map(name, words)])


def portable_files(content):
    """Content as records have it: specs by their path from the repository's root, or of another file the name, wherever the run began."""
    if isinstance(content, list):
        return [portable_files(part) for part in content]
    if not isinstance(content, dict):
        return content
    root = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))

    def place(file):
        path = os.path.relpath(os.path.abspath(file), root)
        return os.path.basename(path) if path.startswith(os.pardir) else path

    return {key: place(value) if key == "file" and isinstance(value, str) else portable_files(value) for key, value in content.items()}


def save(options, content):
    """Writes the record: `content`, the command, commit and date, if --json names a file. Long runs save after each row:
    one that is stopped keeps what it has measured."""
    if not options.json:
        return
    record = {"command": portable(sys.argv), "date": datetime.datetime.now(datetime.timezone.utc).isoformat(),
              "commit": options.commit, **portable_files(content)}
    path = os.path.realpath(options.json)  # a link stays one
    if os.path.exists(path) and not os.path.isfile(path):  # so do a device and a pipe
        with open(path, "w", encoding="utf-8") as out:
            json.dump(record, out, indent=1)
        return
    with tempfile.NamedTemporaryFile("w", encoding="utf-8", dir=os.path.dirname(path), suffix=".part", delete=False) as out:
        try:
            json.dump(record, out, indent=1)
            out.close()
            os.chmod(out.name, 0o644)
            os.replace(out.name, path)
        except BaseException:
            os.unlink(out.name)
            raise
