"""Transformers on a CPU: a Llama with random BF16 weights. Answers each line on standard input with a line of JSON: the
tokens a second of the fastest step of each kind, as `troupe bench llm` reports."""
import argparse
import json
import sys
import time

import torch
from transformers import DynamicCache, LlamaConfig, LlamaForCausalLM


def random_model(a):
    config = LlamaConfig(num_hidden_layers=a.layers, hidden_size=a.hidden, num_attention_heads=a.heads,
                         num_key_value_heads=a.kv_heads, intermediate_size=a.intermediate, vocab_size=a.vocabulary,
                         max_position_embeddings=8192, tie_word_embeddings=True, attn_implementation="sdpa")
    torch.manual_seed(1)
    return LlamaForCausalLM(config).to(torch.bfloat16).eval()


def random_tokens(a, batch, tokens):
    return torch.randint(a.vocabulary, (batch, tokens))


def step(model, tokens, cache):
    """The next token of each sequence, and the seconds that the step took."""
    began = time.perf_counter()
    logits = model(input_ids=tokens, cache=cache, use_cache=True, logits_to_keep=1).logits
    chosen = logits[:, -1:].argmax(-1)
    seconds = time.perf_counter() - began
    assert torch.isfinite(logits).all()
    return chosen, seconds


def repeated(seconds, measure):
    """The shortest time of at least three steps that take these seconds together."""
    times, end = [], time.perf_counter() + seconds
    while len(times) < 3 or time.perf_counter() < end:
        times.append(measure())
    return min(times)


def prefill(model, a):
    tokens = random_tokens(a, 1, a.context)
    return a.context / repeated(a.seconds, lambda: step(model, tokens, DynamicCache())[1])


def decode(model, a, batch):
    cache = DynamicCache()
    tokens, _ = step(model, random_tokens(a, batch, a.context - 1), cache)

    def one():
        nonlocal tokens
        cache.crop(-1)  # the last token
        tokens, seconds = step(model, tokens, cache)
        return seconds
    return batch / repeated(a.seconds, one)


def main():
    parser = argparse.ArgumentParser()
    for name in ("layers", "hidden", "heads", "kv-heads", "intermediate", "vocabulary", "context", "threads"):
        parser.add_argument(f"--{name}", type=int, required=True)
    parser.add_argument("--seconds", type=float, required=True)
    parser.add_argument("--batch", type=lambda text: [int(b) for b in text.split(",")], required=True)
    a = parser.parse_args()
    torch.set_num_threads(a.threads)
    model = random_model(a)
    with torch.inference_mode():
        for _ in sys.stdin:
            figures = {f"decode, batch {b}": decode(model, a, b) for b in a.batch}
            figures[f"prefill, {a.context} tokens"] = prefill(model, a)
            print(json.dumps(figures), flush=True)


if __name__ == "__main__":
    main()
