"""Steps of a random language model on two threads: Troupe's CPU engine beside Transformers."""
import collections
import json
import statistics
import subprocess

import environments
from environments import HERE
from server import Failed

SHAPE = {"layers": 19, "hidden": 1024, "heads": 16, "kv-heads": 16, "intermediate": 2816, "vocabulary": 32000,
         "context": 512, "threads": 2, "batch": "1,8"}
STEPS = ["prefill, 512 tokens", "decode, batch 1", "decode, batch 8"]


def words(options):
    shape = [word for key, value in SHAPE.items() for word in (f"--{key}", str(value))]
    return [*shape, "--seconds", str(options.llm_seconds)]


class Troupe:
    def __init__(self, options):
        self.name, self.version = "Troupe", environments.version_of_troupe(options.program)
        self.command = [options.program, "bench", "llm", *words(options), "--type", "bf16", "--adapters", "0", "--json"]
        self.figures = collections.defaultdict(list)

    def measure(self, options, folder):
        done = subprocess.run(self.command, capture_output=True, text=True)
        if not done.stdout:
            raise Failed(f"fails:\n{done.stderr}")
        for row in json.loads(done.stdout)["rows"]:
            self.figures[row["name"]].append(row["value"])


class Transformers:
    """One process for all repetitions, which waits while the other side is measured."""

    def __init__(self, options):
        python = environments.install("transformers", options.environments)
        self.name = "Transformers"
        self.version = (f"{environments.version_of('transformers', python)} "
                        f"(PyTorch {environments.version_of('torch', python)})")
        self.command = [python, HERE / "transformers_side.py", *words(options)]
        self.child = None
        self.figures = collections.defaultdict(list)

    def measure(self, options, folder):
        if self.child is None:
            self.child = subprocess.Popen(self.command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
        try:
            print("measure", file=self.child.stdin, flush=True)
            tokens_per_s = json.loads(self.child.stdout.readline())
        except (OSError, ValueError) as e:
            raise Failed("ends") from e
        for name, value in tokens_per_s.items():
            self.figures[name].append(value)


def makers(options):
    if "transformers" not in options.peers:
        return []
    return [("Troupe", lambda: Troupe(options)), ("Transformers", lambda: Transformers(options))]


def tables(sides):
    medians = [{step: statistics.median(side.figures[step]) for step in STEPS} for side in sides]
    titles = ["tokens/s, two threads", *(side.name for side in sides), "ratio"]
    return [(titles, [[step, *(f"{m[step]:.1f}" for m in medians), f"{medians[0][step] / medians[-1][step]:.2f}"]
                      for step in STEPS])]
