"""The gallery: what `facet explain` says of each spec of specs/, on one GPU and at one size."""
import concurrent.futures
import json
import os
import pathlib
import subprocess
import tempfile
from typing import NamedTuple

GPU = "h200"
SIZE = {"--batch": "2", "--heads": "16", "--q-len": "8192", "--kv-len": "8192"}


class Entry(NamedTuple):
    name: str
    text: str  # the spec's file
    picture: str  # its tile map, as SVG
    facts: dict  # explain's JSON

    @property
    def family(self):
        """Of the kernels that the compiler chooses: "sm90", "sm80"."""
        return self.facts["plan"].split()[0]

    @property
    def share(self):
        """Of the dense tiles, those that are computed."""
        return self.facts["share_of_work"]

    @property
    def bound_ms(self):
        """No kernel is faster: the tiles that the mask leaves by the tensor cores or exp2, or each tensor once through memory."""
        bound = self.facts["bound_ms"]
        return max(bound["tensor"] * self.share, bound["exp2"] * self.share, bound["memory"])


def explain(facet, spec):
    with tempfile.TemporaryDirectory() as folder:
        picture = pathlib.Path(folder) / "map.svg"
        call = [facet, "explain", str(spec), "--gpu", GPU, "--tiles", "--map", str(picture), "--json",
                *(word for pair in SIZE.items() for word in pair)]
        done = subprocess.run(call, capture_output=True, text=True)
        if done.returncode != 0:
            raise SystemExit(f"{' '.join(call)}\n{done.stderr.strip()}")
        return Entry(spec.stem, spec.read_text(encoding="utf-8").strip(), picture.read_text(encoding="utf-8"), json.loads(done.stdout))


def entries(facet, specs, on_done):
    """One for each .fa file of a folder, in the order of their names."""
    files = sorted(pathlib.Path(specs).glob("*.fa"))
    found = []
    with concurrent.futures.ThreadPoolExecutor(os.cpu_count()) as pool:
        for entry in pool.map(lambda spec: explain(facet, spec), files):
            found.append(entry)
            on_done(len(found), len(files), entry.name)
    return found
