"""Routers of completions between two engines, beside each other: Troupe's, in a cluster with one gateway and two
engines; and peers in front of two Troupe servers with a gateway and an engine each. Engines are emulated, with short
steps."""
import contextlib
import http.client
import json
import sys

import environments
from environments import HERE
from server import Failed
from side import RATE, Side

sys.path.insert(0, str(HERE.parent / "end_to_end"))
from fixtures import FIXTURES  # noqa: E402
from processes import free_ports  # noqa: E402

TOKENS = 16  # of an answer
PROMPTS = [f"Request {i}: " + "A router sends each request to one of several engines. " * 4 for i in range(8)]
PROFILE = """[step]
fixed_us = 100
prefill_token_us = 0
prefill_context_ns = 0
decode_us = 0
decode_context_ns = 0
longest_context_ns = 0
[kv]
token_bytes = 1024
[adapter]
load_ms = 0
"""
MODEL = """[[llm]]
name = "llm"
device = "emulated"
profile = "profile.toml"
model = "{checkpoint}"
max_positions = 4096
max_sequences = 64
adapter_slots = 0
nodes = {nodes}
routing = "round_robin"
"""
PEERS = {"sglang-router": ["-m", "sglang_router.launch_router"], "smg": ["-m", "smg.launch_router"]}


def node(name, roles, control_port, http_port=None):
    return f'[[node]]\nname = "{name}"\nroles = {json.dumps(roles)}\ncontrol_port = {control_port}\n' + (
        f"http_port = {http_port}\n" if http_port else "")


def write_cluster(file, nodes, engines):
    (file.parent / "profile.toml").write_text(PROFILE)
    model = MODEL.format(checkpoint=FIXTURES.parent / "llama-tasks/base", nodes=json.dumps(engines))
    file.write_text(f'name = "{file.stem}"\n' + "".join(nodes) + model)
    return file


def text_of_stream(events):
    """None if it is not complete."""
    *pieces, last = [line[6:] for line in events.splitlines() if line.startswith("data: ")] or [""]
    return "".join(json.loads(piece)["choices"][0]["text"] for piece in pieces) if last == "[DONE]" else None


class RouterSide(Side):
    expected = {}  # the text of each prompt, by the first side that answers it

    def body(self, prompt, **fields):
        return json.dumps({"model": "llm", "prompt": prompt, "max_tokens": TOKENS, "ignore_eos": True, "temperature": 0,
                           **fields})

    def environment(self, options):
        return {}

    def ask(self, prompt, **fields):
        """(status, text) of a completion."""
        connection = http.client.HTTPConnection("127.0.0.1", self.port, timeout=30)
        with contextlib.closing(connection):
            connection.request("POST", "/v1/completions", self.body(prompt, **fields),
                               {"Content-Type": "application/json"})
            response = connection.getresponse()
            return response.status, response.read().decode()

    def check_all(self):
        """Each prompt has the same completion, whole and as a stream, by all sides."""
        for prompt in PROMPTS * 2:
            status, text = self.ask(prompt)
            answer = json.loads(text) if status == 200 else {}
            if answer.get("usage", {}).get("completion_tokens") != TOKENS:
                raise Failed(f"answers {status} {text[:300]}")
            whole = answer["choices"][0]["text"]
            streamed = text_of_stream(self.ask(prompt, stream=True)[1])
            if not whole == streamed == self.expected.setdefault(prompt, whole):
                raise Failed(f"answers {whole!r}, as a stream {streamed!r}, not {self.expected[prompt]!r}")

    def run(self, up, options):
        up.wait(lambda: self.ask(PROMPTS[0])[0] == 200)
        self.check_all()
        url = f"http://127.0.0.1:{self.port}/v1/completions"
        whole, streams = ([self.body(prompt, stream=stream) for prompt in PROMPTS] for stream in (False, True))
        self.load(None, up, url, whole, seconds=1)
        self.load("whole", up, url, whole, options.seconds)
        self.load("stream", up, url, streams, options.seconds)
        self.load("low", up, url, whole, options.low_load_seconds, RATE)
        self.keep("memory", up.memory_mb())
        self.check_all()


class Troupe(RouterSide):
    def __init__(self, options):
        super().__init__("Troupe", environments.version_of_troupe(options.program))
        self.program = options.program

    def commands(self, folder):
        self.port, *ports = free_ports(4)
        nodes = [node("head", ["gateway", "scheduler"], ports[0], self.port),
                 *(node(name, ["worker"], port) for name, port in zip(("first", "second"), ports[1:]))]
        return [[self.program, "up", write_cluster(folder / "routed.toml", nodes, ["first", "second"])]]


class Peer(RouterSide):
    def __init__(self, package, options):
        self.python = environments.install(package, options.environments)
        super().__init__(package, environments.version_of(package, self.python))
        self.program = options.program

    def commands(self, folder):
        self.port, metrics_port, *ports = free_ports(6)
        servers, urls = [], []
        for name, control_port, http_port in (("first", *ports[:2]), ("second", *ports[2:])):
            alone = node(name, ["gateway", "scheduler", "worker"], control_port, http_port)
            servers.append([self.program, "up", write_cluster(folder / f"{name}.toml", [alone], [name])])
            urls.append(f"http://127.0.0.1:{http_port}")
        router = [self.python, *PEERS[self.name], "--worker-urls", *urls, "--policy", "round_robin",
                  "--host", "127.0.0.1", "--port", self.port, "--prometheus-port", metrics_port,
                  "--worker-startup-check-interval", "1", "--log-level", "warn"]
        return [*servers, router]


def makers(options):
    peers = [(key, lambda key=key: Peer(key, options)) for key in PEERS if key in options.peers]
    return [("Troupe", lambda: Troupe(options)), *peers] if peers else []


def tables(sides):
    full = ["full load, two engines", "completions/s", "p50, p99, ms", "CPU of a completion, ms",
            "streams/s", "p50, p99, ms", "CPU of a stream, ms"]
    low = [f"{RATE} completions/s", "CPU of a completion, ms", "p50, p99, ms", "memory, MB"]
    cells = "{whole rate:,.0f}|{whole p50:.1f}, {whole p99:.1f}|{whole cpu:.2f}|" \
            "{stream rate:,.0f}|{stream p50:.1f}, {stream p99:.1f}|{stream cpu:.2f}"
    return [(full, [side.cells(cells) for side in sides]),
            (low, [side.cells("{low cpu:.2f}|{low p50:.1f}, {low p99:.1f}|{memory:.0f}") for side in sides])]
