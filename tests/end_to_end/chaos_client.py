"""Clients of a ChaosCluster: tensors against golden outputs, texts against golden files and recorded ones, over plain
HTTP. Every request ends as one `Answer`."""
import contextlib
import http.client
import json
import random
import select
import time
from dataclasses import dataclass

from chaos_cluster import HTTP, LLM_TIMEOUT_S, MODELS, SLO_S, TASKS
from fixtures import Fixture

MACHINE_S = 20  # extra time for a busy machine before a request counts as hanging
GOLDEN = json.loads((TASKS / "golden.json").read_text())
SEEDED = [{"model": m, "prompt": f"chaos{k}=", "max_tokens": tokens, "ignore_eos": True, "temperature": t,
           "presence_penalty": 0.3, "seed": k}
          for k, (m, tokens, t) in enumerate((("tasks", 40, 1), ("reverse", 90, 1.2), ("sort", 160, 0.8), ("upper", 60, 0),
                                              ("rot13", 220, 1)))]


@dataclass
class Answer:
    """`kind` is result, drop, error, broken (no complete answer) or hang; `reason` names the last four."""
    what: str
    gateway: str
    sent: float
    ended: float
    deadline_s: float
    kind: str
    reason: str = ""
    wrong: str = ""  # what is wrong with a result


def read_stream(response):
    """(text, finish reason, error or None, complete) of a completion's server-sent events."""
    text, finish, error, done = "", None, None, 0
    for line in response:
        if not line.startswith(b"data: "):
            continue
        if line.startswith(b"data: [DONE]"):
            done += 1
            continue
        piece = json.loads(line[6:])
        if "error" in piece:
            error = piece["error"]
            continue
        for choice in piece["choices"]:
            if done or finish:
                return text, finish, None, "an event after the last one"
            text += choice["text"]
            finish = choice["finish_reason"] or finish
    if done > 1:
        return text, finish, error, "ends twice"
    return text, finish, error, "" if done or error else "cut short"


def name_of(body):
    """The reason in an error's body, in either API's form."""
    with contextlib.suppress(ValueError, AttributeError):
        document = json.loads(body)
        error = document["error"]
        if isinstance(error, str):
            return document.get("reason") or error
        return error.get("code") or error["message"]
    return body[:100].decode(errors="replace")


class ChaosClient:
    """`clock` gives the seconds of the run. Thread-safe."""

    def __init__(self, cluster, clock):
        self.cluster, self.clock = cluster, clock
        self.fixtures = [Fixture(m) for m in MODELS]
        self.expected = {}  # index in SEEDED -> (text, finish reason)

    def post(self, gateway, path, body, read, patience_s):
        """(status, headers, what `read` makes of the response); a second answer to one request is an error."""
        host = self.cluster.network.address[gateway]
        connection = http.client.HTTPConnection(host, HTTP, timeout=patience_s)
        with contextlib.closing(connection):
            connection.request("POST", path, body, {"Content-Type": "application/json"})
            sock = connection.sock
            response = connection.getresponse()
            if response.status == 200:
                got = read(response)
            else:
                got = response.read()
            doubled = False
            with contextlib.suppress(OSError, ValueError):
                if select.select([sock], [], [], 0)[0] and sock.recv(1):
                    doubled = True
            return response.status, got, doubled

    def ended(self, what, gateway, sent, deadline_s, status, got, doubled):
        wrong = "answered twice" if doubled else ""
        answer = Answer(what, gateway, sent, self.clock(), deadline_s, "result", wrong=wrong)
        if status != 200:
            message = got if isinstance(got, bytes) else json.dumps({"error": got}).encode()
            failed = status in (500, 504) or b"request failed" in message
            answer.kind, answer.reason = "error" if failed else "drop", f"{status} {name_of(message)}"
        return answer

    def attempt(self, what, gateway, deadline_s, ask):
        """Runs `ask`, whose exceptions are answers as well."""
        sent = self.clock()
        try:
            return ask(sent)
        except TimeoutError:
            return Answer(what, gateway, sent, self.clock(), deadline_s, "hang", "no answer")
        except (OSError, http.client.HTTPException) as e:
            return Answer(what, gateway, sent, self.clock(), deadline_s, "broken", type(e).__name__)

    def tensor(self, gateway, fixture, rows, first, slo_s):
        def ask(sent):
            status, got, doubled = self.post(gateway, f"/v2/models/{fixture.name}/infer", fixture.body(rows, slo_s * 1000, first),
                                             lambda r: r.read(), slo_s + 1 + MACHINE_S)
            answer = self.ended(fixture.name, gateway, sent, slo_s, status, got, doubled)
            if status == 200:
                distance = fixture.distance(json.loads(got), first)
                if not distance <= 1e-4:
                    answer.wrong = f"distance {distance} from the golden output"
            return answer
        return self.attempt(fixture.name, gateway, slo_s, ask)

    def text(self, gateway, body, expected, stream):
        """One completion; `expected` is (text, finish reason), or None to return them."""
        what = f"{'stream' if stream else 'text'} {body['model']}"

        def read(response):
            if stream:
                return read_stream(response)
            choice, = json.loads(response.read())["choices"]
            return choice["text"], choice["finish_reason"], None, ""

        def ask(sent):
            status, got, doubled = self.post(gateway, "/v1/completions", json.dumps({**body, "stream": stream}), read,
                                             LLM_TIMEOUT_S + MACHINE_S)
            if status != 200:
                return self.ended(what, gateway, sent, LLM_TIMEOUT_S, status, got, doubled)
            text, finish, error, broken = got
            if error:
                answer = self.ended(what, gateway, sent, LLM_TIMEOUT_S, 500, error, doubled)
                answer.reason = f"in stream: {error.get('code') or error['message']}"
                return answer
            answer = self.ended(what, gateway, sent, LLM_TIMEOUT_S, 200, got, doubled)
            if broken == "cut short":
                answer.kind, answer.reason = "broken", broken
                if expected and not expected[0].startswith(text):
                    answer.wrong = f"{text!r} instead of the beginning of {expected[0]!r}"
            elif broken:
                answer.wrong = broken
            elif expected is None:
                answer.reason = (text, finish)
            elif (text, finish) != expected:
                answer.wrong = f"{text!r} ({finish}) instead of {expected[0]!r} ({expected[1]})"
            return answer
        return self.attempt(what, gateway, LLM_TIMEOUT_S, ask)

    def golden(self, gateway, case, stream, model=None):
        return self.text(gateway, {"model": model or case["adapter"] or "tasks", "prompt": case["prompt"], "temperature": 0,
                                   "max_tokens": 32}, (case["text"], "stop"), stream)

    def record(self, gateways):
        """Records the seeded texts of the undisturbed cluster; both gateways and both forms must agree."""
        for k, body in enumerate(SEEDED):
            told = [self.text(g, body, None, stream) for g in gateways for stream in (False, True)]
            assert all(a.kind == "result" and not a.wrong for a in told), told
            texts = {a.reason for a in told}
            assert len(texts) == 1, f"the undisturbed cluster differs from itself: {texts}"
            self.expected[k], = texts

    def any(self, gateway, chance: random.Random):
        """A random request."""
        kind = chance.choices(("tensor", "golden", "seeded"), (5, 3, 3))[0]
        if kind == "tensor":
            fixture = chance.choice(self.fixtures)
            rows = chance.choice((1, 1, fixture.rows))
            return self.tensor(gateway, fixture, rows, 0 if rows > 1 else chance.randrange(fixture.rows),
                               chance.choice((2, 4, SLO_S)))
        stream = chance.random() < 0.6
        if kind == "golden":
            return self.golden(gateway, chance.choice(GOLDEN), stream)
        k = chance.randrange(len(SEEDED))
        return self.text(gateway, SEEDED[k], self.expected[k], stream)


def clients(client, gateways, seed, count, pause_s, over, take):
    """Functions of `count` threads that send random requests until `over` is set, and give answers to `take`."""
    def run(number):
        chance = random.Random(seed * 1000 + number)
        while not over.is_set():
            take(client.any(chance.choice(gateways), chance))
            over.wait(chance.expovariate(1 / pause_s))
    return [lambda n=n: run(n) for n in range(count)]


def sleep_until(clock, moment):
    time.sleep(max(0, moment - clock()))
