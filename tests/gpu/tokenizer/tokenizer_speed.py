#!/usr/bin/env python3
"""Times the encoding of a long text, in turns with another build and with the packages.

    tokenizer_speed.py RUNNER [--before RUNNER] [--text FILE]

Trains tokenizers as Llama 3 and Qwen2 have them and, if the package `sentencepiece` is installed, its two kinds on the
documentation and sources of this repository. RUNNER is tokenizer_runner; the text is 220 KiB of the same by default.
"""
import argparse
import json
import random
import subprocess
import tempfile
import time
from pathlib import Path

from tokenizers import AddedToken, Tokenizer, decoders, models, normalizers, trainers, pre_tokenizers

import tokenizers_test as kinds

try:
    import sentencepiece
except ImportError:
    sentencepiece = None
ROOT = Path(__file__).resolve().parents[3]
LENGTH = 220 << 10


def texts():
    files = sorted(ROOT.glob("docs/*.md")) + sorted(p for p in ROOT.glob("[agpt]*/**/*.[hc]pp") if "build" not in p.parts)
    return [f.read_text() for f in files]


def byte_level(pattern, **options):
    normalizer = options.pop("normalizer", None)
    t = Tokenizer(models.BPE(**options))
    t.pre_tokenizer, t.decoder = kinds.split(pattern), decoders.ByteLevel()
    if normalizer:
        t.normalizer = normalizer
    trainer = trainers.BpeTrainer(vocab_size=16000, initial_alphabet=pre_tokenizers.ByteLevel.alphabet(), show_progress=False)
    t.train_from_iterator(texts(), trainer)
    t.add_special_tokens([AddedToken(f"<|reserved_{i}|>", normalized=False, special=True) for i in range(250)])
    return t


def write_byte_level(t, folder):
    t.save(str(folder / "tokenizer.json"))
    return lambda text: t.encode(text)


def write_sentencepiece(kind, folder):
    corpus = folder / "corpus"
    corpus.write_text("\n".join(texts()))
    sentencepiece.SentencePieceTrainer.train(
        input=str(corpus), model_prefix=str(folder / "tokenizer"), vocab_size=8000, model_type=kind, byte_fallback=True,
        normalization_rule_name="identity", remove_extra_whitespaces=False, allow_whitespace_only_pieces=True,
        split_digits=True, input_sentence_size=60000, shuffle_input_sentence=True, minloglevel=2)
    return sentencepiece.SentencePieceProcessor(str(folder / "tokenizer.model")).encode


def best_ms(encode, text):
    times = []
    for _ in range(7):
        began = time.perf_counter()
        encode(text)
        times.append((time.perf_counter() - began) * 1e3)
    return min(times)


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("runner")
    parser.add_argument("--before", help="the tokenizer_runner of another build")
    parser.add_argument("--text", type=Path)
    options = parser.parse_args()
    text = options.text.read_text() if options.text else "\n".join(random.Random(1).sample(texts(), 200))[:LENGTH]
    makers = {"Llama 3": lambda f: write_byte_level(byte_level(kinds.LLAMA3, ignore_merges=True), f),
              "Qwen2": lambda f: write_byte_level(byte_level(kinds.QWEN2, normalizer=normalizers.NFC()), f)}
    if sentencepiece:
        makers |= {"sentencepiece, BPE": lambda f: write_sentencepiece("bpe", f),
                   "sentencepiece, Unigram": lambda f: write_sentencepiece("unigram", f)}
    print(f"{len(text.encode())} bytes; ms, the best of all rounds of one thread")
    for name, make in makers.items():
        with tempfile.TemporaryDirectory() as folder:
            encode = make(Path(folder))
            file = Path(folder, "text")
            file.write_text(text)
            best = {}
            for _ in range(3):
                for label, runner in (("now", options.runner), ("before", options.before)):
                    if runner:
                        line = subprocess.run([runner, folder, file], check=True, stdout=subprocess.PIPE).stdout
                        best[label] = min(best.get(label, 1e9), json.loads(line)["ms"])
            tokens = json.loads(line)["tokens"]
            best["package"] = best_ms(encode, text)
            print(f"{name:24} {tokens:7} tokens " + "".join(f"  {k} {v:6.2f}" for k, v in best.items()), flush=True)


if __name__ == "__main__":
    main()
