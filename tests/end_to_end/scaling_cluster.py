"""A cluster whose language model has places on three workers, and the commands of scaling."""
import json
import re

from cluster import Cluster
from fixtures import FIXTURES
from processes import run

TASKS = FIXTURES.parent / "llama-tasks"
WORKERS = ("first", "second", "third")


def scaling(keys="instances = 1", table="park_s = 0.5", limits="node_timeout_ms = 20000", gbit_per_s=None, model=None,
            line=(), **options):
    """With `gbit_per_s` all links are paced; `model` is the folder of another model, without adapters."""
    links = "" if gbit_per_s is None else f"""pace = true
[[link]]
nodes = {json.dumps(["head", *WORKERS, *line])}
gbit_per_s = {gbit_per_s}
"""
    adapters = f'adapters = "{TASKS / "adapters"}"' if model is None else ""
    return Cluster(workers=WORKERS, limits=limits, line=line, model_text=f"""[[llm]]
name = "tasks"
model = "{model or TASKS / 'base'}"
{adapters}
nodes = {json.dumps(WORKERS)}
routing = "least_loaded"
max_sequences = 16
kv_mb = {8 if model is None else 64}
{keys}
[scaling]
{table}
[links]
{links}""", **options)


def scale(c, instances, *more):
    code, out, err = run("scale", c.file, "tasks", "--instances", instances, "--json", *more)
    assert code == 0, out + err
    return json.loads(out)


def parameters(c):
    code, out, err = run("parameters", c.file, "--json")
    assert code == 0, out + err
    return json.loads(out)


def stages(c):
    return [i["stage"] for i in parameters(c)["instances"]]


def memory_of(pids):
    """(bytes of memory, bytes of them in /dev/shm) of processes that share some: a page counts once."""
    total = shared = 0
    for pid in pids:
        with open(f"/proc/{pid}/smaps_rollup") as f:
            sizes = dict(re.findall(r"(\w+): +(\d+) kB", f.read()))
        total += int(sizes["Pss"]) << 10
        shared += int(sizes["Pss_Shmem"]) << 10
    return total, shared
