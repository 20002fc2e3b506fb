#!/usr/bin/env python3
"""Writes a Llama with random BF16 weights as a GGUF file, to run llama.cpp beside `troupe bench llm`.

    pip install gguf
    tools/bench/llama_cpp_model.py model.gguf --layers 19 --hidden 1024 --heads 16 --kv-heads 16 --intermediate 2816
"""
import argparse

import gguf
import numpy


def random_bf16(random, rows, columns):
    numbers = random.standard_normal((rows, columns), dtype=numpy.float32) * 0.02
    return (numbers.view(numpy.uint32) >> 16).astype(numpy.uint16).view(numpy.uint8)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("file")
    for name, default in [("layers", 16), ("hidden", 2048), ("heads", 32), ("kv-heads", 8), ("intermediate", 8192),
                          ("vocabulary", 32000)]:
        parser.add_argument(f"--{name}", type=int, default=default)
    a = parser.parse_args()

    writer = gguf.GGUFWriter(a.file, "llama")
    writer.add_block_count(a.layers)
    writer.add_context_length(8192)
    writer.add_embedding_length(a.hidden)
    writer.add_feed_forward_length(a.intermediate)
    writer.add_head_count(a.heads)
    writer.add_head_count_kv(a.kv_heads)
    writer.add_layer_norm_rms_eps(1e-5)
    writer.add_rope_dimension_count(a.hidden // a.heads)
    writer.add_vocab_size(a.vocabulary)
    writer.add_tokenizer_model("no_vocab")
    writer.add_file_type(gguf.LlamaFileType.MOSTLY_BF16)

    random = numpy.random.default_rng(1)

    def matrix(name, out, into):
        writer.add_tensor(f"{name}.weight", random_bf16(random, out, into), raw_dtype=gguf.GGMLQuantizationType.BF16)

    def norm(name):
        writer.add_tensor(f"{name}.weight", numpy.ones(a.hidden, numpy.float32))

    matrix("token_embd", a.vocabulary, a.hidden)  # and the head
    norm("output_norm")
    kv_width = a.hidden // a.heads * a.kv_heads
    for layer in range(a.layers):
        block = f"blk.{layer}"
        norm(f"{block}.attn_norm")
        norm(f"{block}.ffn_norm")
        for name, out, into in [("attn_q", a.hidden, a.hidden), ("attn_k", kv_width, a.hidden),
                                ("attn_v", kv_width, a.hidden), ("attn_output", a.hidden, a.hidden),
                                ("ffn_gate", a.intermediate, a.hidden), ("ffn_up", a.intermediate, a.hidden),
                                ("ffn_down", a.hidden, a.intermediate)]:
            matrix(f"{block}.{name}", out, into)
    writer.write_header_to_file()
    writer.write_kv_data_to_file()
    writer.write_tensors_to_file()
    writer.close()


if __name__ == "__main__":
    main()
