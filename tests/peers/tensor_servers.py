"""Servers of tensor models over HTTP, beside each other: each serves mlp, resnet_a and encoder, in batches."""
import concurrent.futures
import contextlib
import dataclasses
import http.client
import json
import sys
import tempfile

import environments
from environments import HERE
from server import Failed
from side import CONNECTIONS, RATE, Side

sys.path.insert(0, str(HERE.parent / "end_to_end"))
from fixtures import FIXTURES, Fixture, relative_l2  # noqa: E402
from processes import free_ports  # noqa: E402

MODELS = {name: Fixture(name) for name in ("mlp", "resnet_a", "encoder")}
MAX_BATCH = 16


def flat(numbers):
    return [n for part in numbers for n in flat(part)] if isinstance(numbers, list) else [numbers]


def nested(numbers, shape):
    for size in reversed(shape[1:]):
        numbers = [numbers[i:i + size] for i in range(0, len(numbers), size)]
    return numbers


class V2:
    """KServe V2."""

    def path(self, model):
        return f"/v2/models/{model}/infer"

    def body(self, fixture, row):
        return fixture.body(1, first=row)

    def numbers(self, answer):
        return answer["outputs"][0]["data"]


class Rows:
    """JSON lists, for servers without a format of their own: {"rows": [...]} in; the same out, or only the list."""

    def path(self, model):
        return f"/{model}"

    def body(self, fixture, row):
        width = len(fixture.input) // fixture.rows
        values = list(fixture.input[row * width:(row + 1) * width])
        return json.dumps({"rows": nested(values, [1, *fixture.input_shape[1:]])})

    def numbers(self, answer):
        return flat(answer["rows"] if isinstance(answer, dict) else answer)


@dataclasses.dataclass
class Peer:
    """A server beside Troupe. Its command begins with the Python program of its environment."""
    key: str  # on the command line, of its requirements, and of its environment
    name: str
    package: str
    format: object
    command: list
    environment: dict = dataclasses.field(default_factory=dict)


PEERS = [
    Peer("pytriton", "PyTriton", "nvidia-pytriton", V2(), [HERE / "pytriton_side.py"]),
    Peer("mlserver", "MLServer", "mlserver", V2(), [HERE / "mlserver_side.py"]),
    Peer("litserve", "LitServe", "litserve", Rows(), [HERE / "litserve_side.py"]),
    Peer("bentoml", "BentoML", "bentoml", Rows(),
         ["-m", "bentoml", "serve", "bentoml_side:Models", "--working-dir", HERE, "--port", "PORT"],
         {"BENTOML_DO_NOT_TRACK": "True"}),
    Peer("ray", "Ray Serve", "ray", Rows(), [HERE / "ray_side.py"],
         {"RAY_SERVE_ENABLE_HA_PROXY": "1", "RAY_SERVE_THROUGHPUT_OPTIMIZED": "1", "RAY_USAGE_STATS_ENABLED": "0"}),
]


class TensorSide(Side):
    def __init__(self, name, version, format, command, environment):
        super().__init__(name, version)
        self.format, self.command, self.own_environment = format, command, environment
        self.bodies = {m: [format.body(f, row) for row in range(f.rows)] for m, f in MODELS.items()}

    def commands(self, folder):
        self.folder = tempfile.mkdtemp(dir=folder)
        self.port, *self.other_ports = free_ports(4)
        return [[str(self.port) if word == "PORT" else word for word in self.command]]

    def environment(self, options):
        """Settings for onnx_model.py."""
        return {"PEER_PORT": str(self.port), "PEER_OTHER_PORTS": " ".join(map(str, self.other_ports)),
                "PEER_FOLDER": self.folder, "PEER_MODELS": str(FIXTURES),
                "PEER_MODEL_NAMES": " ".join(MODELS), "PEER_MAX_BATCH": str(MAX_BATCH),
                "PEER_WAIT_MS": str(options.wait_ms), "PYTHONPATH": str(HERE), "OMP_NUM_THREADS": "1",
                "BENTOML_HOME": self.folder, **self.own_environment}

    def ask(self, model, row):
        """(status, text) of a request."""
        connection = http.client.HTTPConnection("127.0.0.1", self.port, timeout=30)
        with contextlib.closing(connection):
            connection.request("POST", self.format.path(model), self.bodies[model][row],
                               {"Content-Type": "application/json"})
            response = connection.getresponse()
            return response.status, response.read().decode()

    def check(self, model, row):
        """The answer is that of the reference."""
        fixture, (status, text) = MODELS[model], self.ask(model, row)
        width = len(fixture.output) // fixture.rows
        expected = fixture.output[row * width:(row + 1) * width]
        if status != 200 or relative_l2(self.format.numbers(json.loads(text)), expected) > 1e-4:
            raise Failed(f"answers {status} {text[:200]} to row {row} of {model}")

    def check_all(self):
        """Rows of all models one by one, and then many at once, which are answered in batches."""
        work = [(model, row) for model, fixture in MODELS.items() for row in range(fixture.rows)]
        for model, row in work:
            self.check(model, row)
        with concurrent.futures.ThreadPoolExecutor(CONNECTIONS) as pool:
            list(pool.map(lambda w: self.check(*w), work * 4))

    def run(self, up, options):
        for model in MODELS:
            up.wait(lambda: self.ask(model, 0)[0] == 200)
        self.check_all()
        urls = {model: f"http://127.0.0.1:{self.port}{self.format.path(model)}" for model in MODELS}
        for model in ("mlp", "resnet_a"):
            self.load(None, up, urls[model], self.bodies[model], seconds=1)
            self.load(model, up, urls[model], self.bodies[model], options.seconds)
        self.load("low", up, urls["mlp"], self.bodies["mlp"], options.low_load_seconds, RATE)
        self.keep("memory", up.memory_mb())
        self.check_all()


def troupe(options):
    models = [FIXTURES / f"{name}.onnx" for name in MODELS]
    return TensorSide("Troupe", environments.version_of_troupe(options.program), V2(),
                      [options.program, "serve", *models, "--threads", "1", "--port", "PORT"], {})


def beside(peer, options):
    python = environments.install(peer.key, options.environments)
    return TensorSide(peer.name, environments.version_of(peer.package, python), peer.format, [python, *peer.command],
                      peer.environment)


def makers(options):
    peers = [(peer.name, lambda peer=peer: beside(peer, options)) for peer in PEERS if peer.key in options.peers]
    return [("Troupe", lambda: troupe(options)), *peers] if peers else []


def tables(sides):
    full = ["full load", "`mlp`: requests/s", "p50, p99, ms", "CPU a request, ms", "`resnet_a`: requests/s",
            "p50, p99, ms", "CPU a request, ms"]
    low = [f"`mlp`, {RATE} requests/s", "CPU a request, ms", "p50, p99, ms", "memory, MB"]
    load = "{MODEL rate:,.0f}|{MODEL p50:.1f}, {MODEL p99:.1f}|{MODEL cpu:.2f}"
    both = load.replace("MODEL", "mlp") + "|" + load.replace("MODEL", "resnet_a")
    return [(full, [side.cells(both) for side in sides]),
            (low, [side.cells("{low cpu:.2f}|{low p50:.1f}, {low p99:.1f}|{memory:.0f}") for side in sides])]
