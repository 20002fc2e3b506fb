#!/usr/bin/env python3
"""Compares the tokenizers of encoders with the package `tokenizers`: the same ids and types for every text and pair.

    encoder_tokenizers_test.py RUNNER [--seed N] [--texts N] [--only NAME]

Trains tokenizers as BERT, XLM-R and others have them on texts it makes up, and has RUNNER (encoder_tokenizer_runner) and
the package encode thousands of other ones. Prints how to see a failure again, and returns 1 if there is any.
"""
import argparse
import json
import random
import struct
import subprocess
import sys
import tempfile
import time
import unicodedata
from pathlib import Path

from tokenizers import Regex, Tokenizer, decoders, models, normalizers, pre_tokenizers, processors, trainers
from tokenizers_test import text, words

BERT = ["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]"]
ROBERTA = ["<s>", "<pad>", "</s>", "<unk>", "<mask>"]


def bert(r, **normalizer):
    t = Tokenizer(models.WordPiece(unk_token="[UNK]"))
    t.normalizer, t.pre_tokenizer = normalizers.BertNormalizer(**normalizer), pre_tokenizers.BertPreTokenizer()
    t.train_from_iterator([text(r) for _ in range(800)],
                          trainers.WordPieceTrainer(vocab_size=2000, special_tokens=BERT, show_progress=False))
    t.post_processor = processors.TemplateProcessing(single="[CLS] $A [SEP]", pair="[CLS] $A [SEP] $B:1 [SEP]:1",
                                                     special_tokens=[("[CLS]", 2), ("[SEP]", 3)])
    return t


def uncased(r):
    return bert(r)


def cased(r):
    t = bert(r, lowercase=False)
    t.post_processor = processors.BertProcessing(("[SEP]", 3), ("[CLS]", 2))
    return t


def accents(r):
    return bert(r, strip_accents=r.random() < 0.5, clean_text=r.random() < 0.5, handle_chinese_chars=False)


def unigram(r, normalizer, pre_tokenizer):
    t = Tokenizer(models.Unigram())
    t.normalizer, t.pre_tokenizer = normalizer, pre_tokenizer
    # few enough characters for the vocabulary; the texts to compare have others, too
    t.train_from_iterator([" ".join(words(r)) for _ in range(800)],
                          trainers.UnigramTrainer(vocab_size=1500, special_tokens=ROBERTA, unk_token="<unk>",
                                                  show_progress=False))
    t.post_processor = processors.TemplateProcessing(single="<s> $A </s>", pair="<s> $A </s> </s> $B </s>",
                                                     special_tokens=[("<s>", 0), ("</s>", 2)])
    return t


def xlmr(r):
    return unigram(r, normalizers.Sequence([normalizers.NFKC(), normalizers.Replace(Regex(" {2,}"), " ")]),
                   pre_tokenizers.Metaspace(prepend_scheme="always"))


def double_array(values):
    """The units of a trie of byte strings, as darts-clone stores them; `values`: by key."""
    units, taken, bases = {0: 0}, {0}, set()

    def place(at, label, suffixes):
        labels = {s[0] if s else 0 for s in suffixes}
        base = next(b for b in range(1, 1 << 20) if b not in bases and not any(b ^ c in taken for c in labels))
        bases.add(base)
        taken.update(base ^ c for c in labels)
        units[at] = (at ^ base) << 10 | (b"" in suffixes) << 8 | label
        for c in sorted(labels - {0}):
            place(base ^ c, c, {s[1:]: v for s, v in suffixes.items() if s and s[0] == c})
        if b"" in suffixes:
            units[base] = 1 << 31 | suffixes[b""]

    place(0, 0, values)
    size = (max(units) | 0xff) + 1  # a unit and its siblings are in one block
    return b"".join(struct.pack("<I", units.get(i, 0)) for i in range(size))


def charsmap(replacements):
    """A `precompiled_charsmap` of SentencePiece."""
    texts, values = b"", {}
    for was, now in replacements.items():
        values[was.encode()] = len(texts)
        texts += now.encode() + b"\0"
    trie = double_array(values)
    return struct.pack("<I", len(trie)) + trie + texts


REPLACED = {c: unicodedata.normalize("NFKC", c) for c in "\u00a0\u3000\u2003ﬁﬀ½²Ⅷ④Åﾊﾝｶｸ"} | {
    "\t": " ", "\n": " ", "\r": " ", "\u200b": " ", "\ufeff": ""}


def precompiled(r):
    """As published checkpoints of XLM-R have it. Of a character with marks the package takes the shortest match for the
    whole, and libsentencepiece the longest for its beginning; that is not compared."""
    return unigram(r, normalizers.Sequence([normalizers.Precompiled(charsmap(REPLACED)),
                                            normalizers.Replace(Regex(" {2,}"), " ")]),
                   pre_tokenizers.Sequence([pre_tokenizers.WhitespaceSplit(), pre_tokenizers.Metaspace()]))


def roberta(r):
    t = Tokenizer(models.BPE())
    t.pre_tokenizer, t.decoder = pre_tokenizers.ByteLevel(add_prefix_space=False), decoders.ByteLevel()
    t.train_from_iterator([text(r) for _ in range(800)],
                          trainers.BpeTrainer(vocab_size=1500, special_tokens=ROBERTA, show_progress=False,
                                              initial_alphabet=pre_tokenizers.ByteLevel.alphabet()))
    t.post_processor = processors.RobertaProcessing(("</s>", 2), ("<s>", 0), add_prefix_space=False)
    return t


def spaces(r):
    return unigram(r, normalizers.Sequence([normalizers.NFD(), normalizers.Strip(), normalizers.Replace("a", "e")]),
                   pre_tokenizers.Sequence([pre_tokenizers.WhitespaceSplit(), pre_tokenizers.Metaspace()]))


def marks(r):
    return unigram(r, normalizers.Sequence([normalizers.NFKD(), normalizers.StripAccents(), normalizers.Lowercase()]),
                   pre_tokenizers.Metaspace(prepend_scheme="never"))


MAKERS = {m.__name__: m for m in (uncased, cased, accents, xlmr, precompiled, roberta, spaces, marks)}


def known_text(r, names, marked):
    """Of characters whose category no version of Unicode has changed: the package's tables are older than others."""
    def known(c):
        category = unicodedata.category(c)
        return unicodedata.ucd_3_2_0.category(c) == category and (marked or category[0] not in "MC" or c in REPLACED)
    return "".join(c for c in text(r, names) if known(c))


def requests(r, t, count, marked):
    """Each with the package's answer. `marked`: texts have combining characters and controls."""
    names = BERT + ROBERTA
    for _ in range(count):
        pair = known_text(r, names, marked) if r.random() < 0.5 else None
        most = r.choice([5, 8, 30, 100_000])
        t.enable_truncation(most)
        first = known_text(r, names, marked)
        expected = t.encode(first, pair)
        yield {"text": first, "pair": pair, "max_tokens": most}, {"ids": expected.ids, "types": expected.type_ids}


def compare(runner, name, seed, count):
    r = random.Random(f"{seed} {name}")
    t = MAKERS[name](r)
    with tempfile.TemporaryDirectory() as folder:
        t.no_truncation()
        t.save(str(Path(folder) / "tokenizer.json"))
        asked = list(requests(r, t, count, name != "precompiled"))
        lines = "\n".join(json.dumps(request) for request, _ in asked)
        done = subprocess.run([runner, folder], input=lines, capture_output=True, text=True)
    if done.returncode != 0:
        return [f"{name}: {done.stderr.strip()}"]
    answers = [json.loads(line) for line in done.stdout.splitlines()]
    return [f"{name}: {request}\n  {answer}\n  the package: {expected}"
            for (request, expected), answer in zip(asked, answers, strict=True) if answer != expected]


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("runner")
    parser.add_argument("--seed", type=int, default=int(time.time()) % 100000)
    parser.add_argument("--texts", type=int, default=500)
    parser.add_argument("--only", choices=MAKERS)
    o = parser.parse_args()
    failures = []
    for name in [o.only] if o.only else MAKERS:
        failures += compare(o.runner, name, o.seed, o.texts)
    for f in failures[:10]:
        print(f)
    if failures:
        print(f"{len(failures)} differ; again: {' '.join(sys.argv)} --seed {o.seed}")
        return 1
    print(f"seed {o.seed}: all {len(MAKERS)} tokenizers agree on {o.texts} texts each")
    return 0


if __name__ == "__main__":
    sys.exit(main())
