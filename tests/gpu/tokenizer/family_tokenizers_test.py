#!/usr/bin/env python3
"""Compares the tokenizers of model families with Transformers: the same ids for every text, the same text for all ids.

    family_tokenizers_test.py RUNNER [--seed N] [--texts N] [--only NAME]

Makes a folder of each family (family_tokenizers.py), and has RUNNER (tokenizer_runner) and AutoTokenizer read it: with its
tokenizer.json, with its tokenizer.model, and with both. Prints how to see a failure again, and returns 1 if there is any.
"""
import argparse
import os
import random
import shutil
import sys
import tempfile
import time
from pathlib import Path

os.environ["HF_HUB_OFFLINE"] = "1"
os.environ["TRANSFORMERS_VERBOSITY"] = "error"

from transformers import AutoTokenizer

import family_tokenizers
from tokenizers_test import differences, sound_ids, text

# Texts that random ones seldom are.
TEXTS = ["", " ", "  ", "\n", "\n\n\n", "\t", "\t\tx", "a", " a", "a ", "▁", "▁▁a", "<0x41>", "<unk>", " <s> ", "a<s>b</s> c",
         "<|user|>\n Hi<|end|>\n<|assistant|>\n", "[INST] hi [/INST]ok</s> [INST]", "<|im_start|> user <|im_sep|>\n x",
         "<start_of_turn>user\nhi<end_of_turn>\n", "<think>\n\n</think>\n\n", "\0", "é" * 3000, "a b " * 2000]
# A run of more spaces than Gemma's longest piece has: sentencepiece, and Troupe with a tokenizer.model, take the longest
# pieces from the left; Transformers merges pairs.
MANY_SPACES = "▁ " * 500


def requests(seed, tokenizer, texts, count):
    """Each with Transformers' answer; those of a seed have the same texts for all tokenizers."""
    names = sorted(t.content for t in tokenizer.added_tokens_decoder.values())
    vocabulary = tokenizer.get_vocab()
    for i in range(count):
        r = random.Random(f"{seed} {i}")
        asked = texts[i] if i < len(texts) else text(r, names)
        request = {"text": asked, "special": r.random() < 0.5, "parse_special": r.random() < 0.5}
        ids = tokenizer(asked, add_special_tokens=request["special"],
                        split_special_tokens=not request["parse_special"])["input_ids"]
        yield request, {"ids": ids}
        shown = {"ids": ids if r.random() < 0.5 else sound_ids(r, vocabulary), "skip_special": r.random() < 0.5}
        decoded = tokenizer.decode(shown["ids"], skip_special_tokens=shown["skip_special"])
        yield shown, {"text": decoded, "streamed": decoded}


def copy(source, to, files):
    to.mkdir()
    for name in ["config.json", "tokenizer_config.json", *files]:
        shutil.copy(source / name, to / name)


def compare_files(name, answers):
    """Prints the first text whose ids depend on the files, and returns how many there are. `answers`: by files."""
    ids = [{q["text"]: a["ids"] for q, a in pairs if q.get("text", MANY_SPACES) != MANY_SPACES} for pairs in answers]
    wrong = [t for t in ids[0] if any(other[t] != ids[0][t] for other in ids if t in other)]
    for t in wrong[:1]:
        print(f"{name}: {t!r} has other ids with other files: {[other.get(t) for other in ids]}")
    return len(wrong)


def compare(runner, name, seed, count):
    wrong, answers = 0, []
    with tempfile.TemporaryDirectory() as temporary:
        made = Path(temporary) / "made"
        made.mkdir()
        family_tokenizers.MAKERS[name](random.Random(f"{seed} {name}"), made)
        for files in family_tokenizers.files_to_compare(made):
            folder = Path(temporary) / "+".join(files)
            copy(made, folder, files)
            tokenizer = AutoTokenizer.from_pretrained(folder)
            texts = TEXTS + [MANY_SPACES] * ("tokenizer.json" in files)
            answers.append(list(requests(f"{seed} {name}", tokenizer, texts, count)))
            wrong += differences(runner, folder, f"{name}, {folder.name}", answers[-1], tokenizer.convert_ids_to_tokens)
    if name not in family_tokenizers.DIFFERENT_FILES:
        wrong += compare_files(name, answers)
    return sum(map(len, answers)), wrong


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("runner")
    parser.add_argument("--seed", type=int, default=int(time.time()))
    parser.add_argument("--texts", type=int, default=400, help="for each family and choice of files")
    parser.add_argument("--only", choices=family_tokenizers.MAKERS)
    options = parser.parse_args()
    failures = 0
    for name in [options.only] if options.only else family_tokenizers.MAKERS:
        asked, wrong = compare(options.runner, name, options.seed, options.texts)
        failures += wrong
        print(f"{name}: {asked} requests, {wrong} with another answer", flush=True)
        if wrong:
            print(f"  again: {sys.argv[0]} {options.runner} --seed {options.seed} --texts {options.texts} --only {name}")
    return 1 if failures else 0


if __name__ == "__main__":
    sys.exit(main())
