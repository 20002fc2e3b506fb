"""A Llama checkpoint of a wanted size with random weights, and the tokenizer of the llama-tasks fixture."""
import json
import random
import shutil
import struct

HEAD = 64
LAYERS = 5
F32, BF16 = 4, 2  # bytes of a number: as a CPU reads it, and in the file


def width_for(megabytes):
    """The hidden size with which the weights of the layers take about so many MB as f32: 12.25 width² each."""
    width = (megabytes * 1e6 / (F32 * LAYERS * 12.25)) ** 0.5
    return max(HEAD, round(width / HEAD) * HEAD)


def make(folder, tokenizer, megabytes, seed=1):
    """Writes the checkpoint into the folder."""
    folder.mkdir(parents=True)
    for name in ("generation_config.json", "tokenizer.model", "tokenizer.vocab"):
        shutil.copy(tokenizer / name, folder)
    config = json.loads((tokenizer / "config.json").read_text())
    width = width_for(megabytes)
    inner, heads, words = width * 11 // 4, width // HEAD, config["vocab_size"]
    config |= {"hidden_size": width, "intermediate_size": inner, "num_hidden_layers": LAYERS, "head_dim": HEAD,
               "num_attention_heads": heads, "num_key_value_heads": heads}
    (folder / "config.json").write_text(json.dumps(config))
    shapes = {"model.embed_tokens.weight": [words, width], "model.norm.weight": [width], "lm_head.weight": [words, width]}
    for i in range(LAYERS):
        layer = f"model.layers.{i}"
        shapes |= {f"{layer}.self_attn.{x}_proj.weight": [width, width] for x in "qkvo"}
        shapes |= {f"{layer}.mlp.{x}_proj.weight": [inner, width] for x in ("gate", "up")}
        shapes |= {f"{layer}.mlp.down_proj.weight": [width, inner]}
        shapes |= {f"{layer}.{x}_layernorm.weight": [width] for x in ("input", "post_attention")}
    write(folder / "model.safetensors", shapes, random.Random(seed))


def write(path, shapes, generator):
    head, at = {}, 0
    for name, shape in shapes.items():
        size = BF16 * shape[0] * (shape[1] if len(shape) > 1 else 1)
        head[name] = {"dtype": "BF16", "shape": shape, "data_offsets": [at, at + size]}
        at += size
    text = json.dumps(head).encode()
    with open(path, "wb") as f:
        f.write(struct.pack("<Q", len(text)) + text)
        for name, shape in shapes.items():
            ones = "norm" in name
            f.write(b"\x80\x3f" * shape[0] if ones else b"".join(rows(generator, *shape)))


def rows(generator, count, width):
    """Rows of bf16 numbers between 1/128 and 1/32, of either sign: their upper bytes are 3c and bc."""
    signs = bytes(0x3c if byte < 128 else 0xbc for byte in range(256))
    for _ in range(count):
        row = bytearray(BF16 * width)
        row[0::2] = generator.randbytes(width)
        row[1::2] = generator.randbytes(width).translate(signs)
        yield bytes(row)
