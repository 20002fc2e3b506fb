#!/usr/bin/env python3
"""Prints the expected values of the fixtures for parameters_test.cpp, adapter_test.cpp and model_config_test.cpp.

    tests/gpu/checkpoint/fixture_numbers.py FIXTURES

Reads the files on its own, with the standard library alone, in double precision.
"""
import json
import math
import struct
import sys
from pathlib import Path


def tensors(path):
    data = path.read_bytes()
    end = 8 + struct.unpack("<Q", data[:8])[0]
    for name, t in json.loads(data[8:end]).items():
        if name != "__metadata__":
            first, last = t["data_offsets"]
            yield name, (t["dtype"], t["shape"], data[end + first:end + last])


def values(tensor):
    dtype, _, data = tensor
    if dtype == "BF16":
        data = b"".join(b"\0\0" + data[i:i + 2] for i in range(0, len(data), 2))
    return struct.unpack(f"<{len(data) // 4}f", data)


def fnv1a(blob):
    h = 0xcbf29ce484222325
    for byte in blob:
        h = (h ^ byte) * 0x100000001b3 & 0xffffffffffffffff
    return h


def layers(all_tensors, config):
    yield ["model.embed_tokens"]
    for i in range(config["num_hidden_layers"]):
        at, mlp = f"model.layers.{i}.self_attn.", f"model.layers.{i}.mlp."
        yield [f"model.layers.{i}.input_layernorm", at + "q_proj", at + "k_proj", at + "v_proj", at + "o_proj",
               f"model.layers.{i}.post_attention_layernorm", mlp + "gate_proj", mlp + "up_proj", mlp + "down_proj"]
    yield ["model.norm", "lm_head"]


def blob(all_tensors, modules):
    out = b""
    for m in modules:
        for kind in "weight", "bias":
            if f"{m}.{kind}" in all_tensors:
                data = all_tensors[f"{m}.{kind}"][2]
                out += data + bytes(-len(data) % 64)
    return out


def llama3_frequencies(theta, dim, factor, low, high, original):
    """As in the Llama 3.1 reference, frequency by frequency."""
    out = []
    for i in range(0, dim, 2):
        f = theta ** (-i / dim)
        wave = 2 * math.pi / f
        if wave > original / low:
            f /= factor
        elif wave >= original / high:
            smooth = (original / wave - low) / (high - low)
            f = (1 - smooth) * f / factor + smooth * f
        out.append(f)
    return out


def main():
    root = Path(sys.argv[1])
    for folder in [root / "llama-tasks/base", *sorted((root / "random-llms").iterdir())]:
        config = json.loads((folder / "config.json").read_text())
        t = dict(tensors(folder / "model.safetensors"))
        print(folder.name)
        print("  hashes", ", ".join(hex(fnv1a(blob(t, m))) for m in layers(t, config)))
        for name in "model.embed_tokens.weight", "model.layers.1.mlp.down_proj.weight", \
                "model.layers.0.self_attn.k_proj.bias":
            if name in t:
                v = values(t[name])
                print("  ", name, t[name][1], v[0], v[1], v[-1])
    for folder in [*sorted((root / "llama-tasks/adapters").iterdir()),
                   *sorted(p for p in (root / "random-llms").glob("*/adapter"))]:
        t = dict(tensors(folder / "adapter_model.safetensors"))
        print(folder, len(t))
        for which in "A", "B":
            name = f"base_model.model.model.layers.1.self_attn.v_proj.lora_{which}.weight"
            v = values(t[name])
            print("  ", name, t[name][1], v[0], v[1], v[-1])
    print("llama3 of the fixture", llama3_frequencies(500000, 16, 8, 1, 4, 64))
    llama31 = llama3_frequencies(500000, 128, 8, 1, 4, 8192)
    print("llama 3.1 at 0, 1, 28, 32, 35, 40, 63:", [llama31[i] for i in (0, 1, 28, 32, 35, 40, 63)])
    print("linear 4 of 10000, 8:", [10000 ** (-i / 8) / 4 for i in range(0, 8, 2)])


if __name__ == "__main__":
    main()
