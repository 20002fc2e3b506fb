"""Broken files: the kinds of files that commands read, and the forms in which each kind is broken."""
import json
import os
import random
import re
import shutil
from dataclasses import dataclass
from pathlib import Path

from fixtures import FIXTURES, ROOT

EXAMPLES, OTHERS = ROOT / "examples", FIXTURES.parent
MUTANTS = 8
DEPTH = 100_000
SURE = ("missing", "a directory", "a link to itself", "unreadable", "empty", "one byte", "zeros", "noise", "another format",
        "nested", "a zero byte")  # no reader may accept them, unless its kind says so


@dataclass(frozen=True)
class Kind:
    """A good file, or the file `inside` a good folder, which is then what commands are given."""
    good: Path | bytes
    format: str = "bytes"
    inside: str = ""
    accepts: tuple = ()  # forms that may be no mistake
    called: str = "broken"  # a file that is not of a path
    added: bytes = b""  # content of the file inside, if the good folder has none

    def content(self):
        if self.added or isinstance(self.good, bytes):
            return self.added or self.good
        return (self.good / self.inside).read_bytes()


def length(n):
    """As Protocol Buffers write it."""
    out = bytearray()
    while n >= 128:
        out.append(n & 127 | 128)
        n >>= 7
    return bytes([*out, n])


def nested_onnx():
    """A graph in an attribute of a node of a graph, and so on."""
    pieces, size = [], 0
    for i in range(6000):
        pieces.append(bytes([(0x2A, 0x0A, 0x32)[i % 3] if i < 5999 else 0x3A]) + length(size))  # ModelProto.graph at last
        size += len(pieces[-1])
    return b"".join(reversed(pieces))


def nested(form):
    lists = b"[" * DEPTH + b"]" * DEPTH
    json_ = b'{"a":' * DEPTH + b"1" + b"}" * DEPTH
    return {"toml": b"a = " + lists, "json": json_, "csv": b"," * DEPTH, "pbtxt": b"a {" * DEPTH + b"}" * DEPTH,
            "jinja": b"{{" + b"(" * DEPTH + b"1" + b")" * DEPTH + b"}}",
            "safetensors": len(json_).to_bytes(8, "little") + json_, "onnx": nested_onnx(),
            "pem": b"-----BEGIN CERTIFICATE-----\n" * DEPTH, "bytes": b"a" * DEPTH}[form]


def with_nested(content, form):
    """The file with one more value, which is nested deeply."""
    lists = b"[" * DEPTH + b"]" * DEPTH
    return b"deep = " + lists + b"\n" + content if form == "toml" else content.replace(b"{", b'{"deep":' + lists + b",", 1)


def damaged(content, form, seed):
    """(form, content)"""
    r = random.Random(f"damage {seed}")
    middle = len(content) // 2
    text = form in ("toml", "json", "csv", "pbtxt", "jinja", "pem")
    yield "empty", b""
    yield "one byte", content[:1]
    yield "zeros", bytes(4096)
    yield "noise", r.randbytes(4096)
    yield "another format", ((FIXTURES / "mlp.onnx") if text else EXAMPLES / "quickstart/cluster.toml").read_bytes()
    yield "nested", nested(form)
    yield "a zero byte", content[:middle] + b"\0" + content[middle:]
    yield "not UTF-8", content[:middle] + b"\xff\xfe\xc0\x80" + content[middle:]
    yield "garbage at its end", content + r.randbytes(64)
    if form in ("toml", "json"):
        yield "a nested value", with_nested(content, form)
    if text:
        yield "huge numbers", re.sub(rb"\d+", b"9" * 400, content)
        yield "negative numbers", re.sub(rb"(?<=[ :=,])\d+", lambda m: b"-" + m[0], content)
        yield "a long line", b"x" * (2 << 20)
    for at in sorted({len(content) // 8, len(content) // 4, middle, len(content) * 7 // 8, max(0, len(content) - 1)}):
        yield f"cut off at {at}", content[:at]
    for i in range(MUTANTS):
        mutant = bytearray(content)
        for _ in range(r.randint(1, 8)):  # the beginning of most formats has the structure, the end numbers
            mutant[r.randrange(min(len(mutant), 2048) if i % 2 else len(mutant))] = r.randrange(256)
        yield f"mutant {i}", bytes(mutant)


def link_to_itself(path):
    path.symlink_to(path)


def unreadable(path):
    path.write_bytes(b"x")
    path.chmod(0)


def forms(kind, seed):
    """(form, function that makes the file at a path)"""
    for form, content in damaged(kind.content(), kind.format, seed):
        yield form, lambda path, content=content: path.write_bytes(content)
    yield "missing", lambda path: None
    yield "a directory", Path.mkdir
    yield "a link to itself", link_to_itself
    if os.geteuid() != 0:  # root reads everything
        yield "unreadable", unreadable


def put(kind, make, folder):
    """What a command is given: the broken file, or a folder of links to good files beside it."""
    if not kind.inside:
        file = folder / (kind.called if isinstance(kind.good, bytes) else kind.good.name)
        make(file)
        return file
    shutil.copytree(kind.good, folder / kind.good.name, copy_function=os.symlink)
    file = folder / kind.good.name / kind.inside
    file.unlink(missing_ok=bool(kind.added))
    make(file)
    return folder / kind.good.name


def absolute(file):
    """A cluster file with its paths made absolute, as it is copied."""
    return re.sub(r'"((\.\./|models/)[^"]*)"', lambda m: f'"{(file.parent / m[1]).resolve()}"', file.read_text()).encode()


RESULTS = {"experiment": "figure6a", "axes": ["beta_ms"], "quick": False, "seconds": 1.5, "points": [
    {"case": "", "at": {"beta_ms": b}, "policy": p, "metrics": {"goodput": 10.5, "relative": 1}, "paper": {}, "tables": []}
    for b in (1, 15) for p in ("deferred", "eager")]}
NETWORK = {"bytes": 14e9, "chunks": 32, "lanes": 2, "sources": [{"name": "S", "busy": True, "kind": "host"}, {"name": "c0"}],
           "targets": ["T1", "c1"], "gbit_per_s": {"S": {"T1": 100, "c1": 50.5}, "T1": {"c1": 25}}, "half_rate": ["T1"],
           "domains": [["c0", "c1"]], "domain_gbit_per_s": 1600}
TRITON = b'max_batch_size: 8\ninput [ { name: "input" data_type: TYPE_FP32 dims: [ 16 ] } ]\n'
TEMPLATE = """{% for message in messages if message.content %}{{ message.role | upper + ': ' + message['content'][:20] }}
{% endfor %}{% if add_generation_prompt %}{{- 'ASSISTANT:' }}{% endif %}"""
WHATEVER = SURE[4:]  # of bytes without a format
OPTIONAL = ("missing",)
CHECKPOINT, ADAPTER = OTHERS / "llama-tasks/base", OTHERS / "llama-tasks/adapters/upper"
XLMR, RERANKER = OTHERS / "encoders/xlmr", OTHERS / "encoders/cross-encoder"
KINDS = {
    "cluster file": Kind(absolute(EXAMPLES / "quickstart/cluster.toml"), "toml"),
    "emulated cluster": Kind(absolute(EXAMPLES / "emulated/cluster.toml"), "toml"),
    "workload": Kind(EXAMPLES / "emulated/workload.toml", "toml"),
    "definition": Kind(f'name = "m"\nsource = "{FIXTURES}/mlp.onnx"\nslo_ms = 1000\n'.encode(), "toml"),
    "scenario": Kind(EXAMPLES / "experiments/table2-resnet50.toml", "toml"),
    "experiment": Kind(EXAMPLES / "experiments/figure6a.toml", "toml"),
    "results": Kind(json.dumps(RESULTS).encode(), "json", accepts=("missing",), called="figure6a.json"),
    "network": Kind(json.dumps(NETWORK).encode(), "json"),
    "zoo": Kind(EXAMPLES / "profiles/parameters.csv", "csv", accepts=("a zero byte",)),  # in a name
    "latency profile": Kind(EXAMPLES / "profiles/a100.csv", "csv"),
    "step profile": Kind(EXAMPLES / "profiles/punica-7b-a100.toml", "toml"),
    "Azure's trace": Kind(EXAMPLES / "traces/azure.csv", "csv"),
    "BurstGPT's trace": Kind(EXAMPLES / "traces/burstgpt.csv", "csv", accepts=("a zero byte",)),
    "Mooncake's trace": Kind(EXAMPLES / "traces/mooncake.jsonl", "json"),
    "tensor model": Kind(FIXTURES / "mlp.onnx", "onnx"),
    "transformer": Kind(FIXTURES / "encoder.onnx", "onnx"),
    "configuration of Triton": Kind(TRITON, "pbtxt"),
    "rows": Kind(FIXTURES / "mlp.in.bin", accepts=WHATEVER),
    "image": Kind(OTHERS / "images/baseline.jpg", accepts=("a zero byte",)),
    "key": Kind(b"0123456789abcdef0123456789abcdef\n", accepts=WHATEVER),
    "conversation": Kind(b"Hello\nHow are you?\n", accepts=WHATEVER),
    "plug-in": Kind(b"\x7fELF\x02\x01\x01" + bytes(57)),
    "checkpoint": Kind(CHECKPOINT, "json", "config.json"),
    "sampling": Kind(CHECKPOINT, "json", "generation_config.json", accepts=OPTIONAL),
    "weights": Kind(CHECKPOINT, "safetensors", "model.safetensors"),
    "tokenizer": Kind(CHECKPOINT, "onnx", "tokenizer.model"),
    "chat template": Kind(CHECKPOINT, "jinja", "chat_template.jinja", accepts=SURE, added=TEMPLATE.encode()),  # it chats without
    "named chat templates": Kind(CHECKPOINT, "json", "tokenizer_config.json", accepts=OPTIONAL,
                                 added=json.dumps({"chat_template": [{"name": "default", "template": TEMPLATE}]}).encode()),
    "adapter": Kind(ADAPTER, "json", "adapter_config.json"),
    "weights of an adapter": Kind(ADAPTER, "safetensors", "adapter_model.safetensors"),
    "encoder": Kind(XLMR, "json", "config.json"),
    "weights of an encoder": Kind(XLMR, "safetensors", "model.safetensors"),
    "tokenizer of an encoder": Kind(XLMR, "json", "tokenizer.json"),
    "pooling": Kind(XLMR, "json", "1_Pooling/config.json", accepts=OPTIONAL),
    "tokenizer of a reranker": Kind(RERANKER, "json", "tokenizer.json"),
    "options of a tokenizer": Kind(RERANKER, "json", "tokenizer_config.json", accepts=OPTIONAL),
}


def certificates(folder):
    """Kinds of files in a folder that `troupe certs` has made for a node "n"."""
    return {"CA": Kind(folder, "pem", "ca.pem"), "key of a CA": Kind(folder, "pem", "ca.key"),
            "certificate": Kind(folder, "pem", "operator.pem"), "key of a certificate": Kind(folder, "pem", "operator.key")}
