#!/usr/bin/env python3
"""Compares BPE with the package `tokenizers`: the same ids for every text, the same text for all ids.

    tokenizers_test.py RUNNER [--seed N] [--texts N] [--only NAME]

Trains tokenizers as Llama 3, Qwen2 and GPT-2 have them, and with random pipelines, on texts it makes up, and has RUNNER
(tokenizer_runner) and the package encode and decode thousands of other ones. Prints how to see a failure again, and returns 1 if there is any.
"""
import argparse
import json
import random
import subprocess
import sys
import tempfile
import time
import unicodedata
from pathlib import Path

from tokenizers import AddedToken, Regex, Tokenizer, decoders, models, normalizers, pre_tokenizers, processors, trainers

LLAMA3 = (r"(?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}{1,3}| ?[^\s\p{L}\p{N}]+[\r\n]*"
          r"|\s*[\r\n]+|\s+(?!\S)|\s+")
QWEN2 = LLAMA3.replace(r"\p{N}{1,3}", r"\p{N}")
O200K = (r"[^\r\n\p{L}\p{N}]?[\p{Lu}\p{Lt}\p{Lm}\p{Lo}\p{M}]*[\p{Ll}\p{Lm}\p{Lo}\p{M}]+(?i:'s|'t|'re|'ve|'m|'ll|'d)?"
         r"|[^\r\n\p{L}\p{N}]?[\p{Lu}\p{Lt}\p{Lm}\p{Lo}\p{M}]+[\p{Ll}\p{Lm}\p{Lo}\p{M}]*(?i:'s|'t|'re|'ve|'m|'ll|'d)?"
         r"|\p{N}{1,3}| ?[^\s\p{L}\p{N}]+[\r\n/]*|\s*[\r\n]+|\s+(?!\S)|\s+")

# One line per script: typical texts with difficult marks, joiners and spaces.
PHRASES = """the quick brown fox doesn't jump; we've said they'll, I'm sure it's HE'LL, DON'T, Who'D 've
Zwölf Boxkämpfer jagen Viktor quer über den großen Sylter Deich, naïve façade, cafe\u0301 au lait, ſ'ſ K Å
Съешь же ещё этих мягких французских булок, да выпей чаю; і їжак
Ξεσκεπάζω την ψυχοφθόρα βδελυγμία ά ΐ ὰ
天地玄黃 宇宙洪荒。日月盈昃,辰宿列張 你好,世界! 𠮷野家 一二三
いろはにほへと ちりぬるを ガギグゲゴ か\u3099き\u3099 カタカナ ハンカク ﾊﾝｶｸ
키스의 고유조건은 입술끼리 만나야 \u1112\u1161\u11ab\u1100\u1173\u11af 한글
صِف خَلقَ خَودِ كَمِثلِ الشَمسِ إِذ بَزَغَت ١٢٣ لا
דג סקרן שט בים מאוכזב שָׁלוֹם ואז פתאום
ऋषियों को सताने वाले दुष्ट राक्षसों क़ ख़ १२३ র\u09c7\u09be আ
เป็นมนุษย์สุดประเสริฐเลิศคุณค่า ๑๒๓ กำ
ᠮᠣᠩᠭᠣᠯ\u180eᠪᠢᠴᠢᠭ ᠨᠢ ᠬᠦᠮᠦᠨ
👩\u200d👩\u200d👧\u200d👦 👍🏽 🏳\ufe0f\u200d🌈 🇩🇪🇫🇷 ❤\ufe0f 😀😃😄 ☕ 1\ufe0f\u20e3
for (int i = 0; i < 10; ++i) {\\n\\tx[i] += f(x)->y * 0x1F; // why?\\n}
def f(a, *b, **c): return {k: v for k, v in c.items() if k != "a"} # maybe
<html><p class="a">&nbsp;x &amp; y</p></html> {"key": [1, 2.5e-3, null]} \\\\path\\\\to SELECT * FROM t;
3.14159 1,000,000 12345678901234567890 2026-11-22T16:06:10Z ½ ² Ⅷ ٣ ④ 0b1010 +49 (30) 1234
∀x∈ℝ: ⌈x⌉ = −⌊−x⌋ ≠ ∑ ∂ Å Å Å ﬁ ﬀ ½ ☃ → ⇒ € ₿ … “quote” ‘s’ ’s ’re
e\u0301\u0323 e\u0323\u0301 q\u0307\u0323 \u0344 \u0f73 a\u0315\u0300\u05ae\u0062 ậ ậ ự""".split("\n")
SPACES = [" ", " ", " ", "  ", "   ", "\n", "\n\n", "\r\n", "\t", " \n ", "\u00a0", "\u3000", "\u2003", "\u0085", "\u200b",
          "\u180e", "\u2028", "\x0b", "\x0c", "\x1c", "\ufeff", "     \n\n   ", "\0"]
BYTES = {f"<0x{b:02X}>": b for b in range(256)}
SPECIAL = ["<|begin_of_text|>", "<|end_of_text|>", "<|eot_id|>", "<|start_header_id|>", "<|end_header_id|>"]


def newest_for_all(character):
    """Whether a character is in the tables of all libraries; the oldest have Unicode 13."""
    return unicodedata.ucd_3_2_0.category(character) != "Cn"


def random_character(r):
    while True:
        c = chr(r.choice([r.randrange(0x80), r.randrange(0x800), r.randrange(0x3000), r.randrange(0x10000),
                          r.randrange(0x110000)]))
        if not 0xd800 <= ord(c) < 0xe000 and newest_for_all(c):
            return c


def words(r):
    return r.choice([p.replace("\\n", "\n").replace("\\t", "\t").replace("\\\\", "\\") for p in PHRASES]).split(" ")


def snippet(r, added):
    kind = r.randrange(12)
    if kind < 5:
        w = words(r)
        at = r.randrange(len(w))
        return r.choice([" ", " ", "", "\n"]).join(w[at:at + r.randrange(1, 12)])
    if kind == 5:
        return "".join(random_character(r) for _ in range(r.randrange(1, 12)))
    if kind == 6:
        return r.randbytes(r.randrange(1, 20)).decode(errors="replace")
    if kind == 7:
        return "".join(r.choice(SPACES) for _ in range(r.randrange(1, 8)))
    if kind == 8:
        return str(r.randrange(10 ** r.randrange(1, 18)))
    if kind == 9:
        return "".join(r.choice("abAB'sStT \n.!1") for _ in range(r.randrange(1, 20)))
    if kind == 10:
        return r.choice(words(r)) * r.randrange(1, 40)
    t = r.choice(added) if added else ""
    return r.choice([t, t, t[:-1], t[1:], f" {t} ", f"\n{t}\n", t + t, f"a{t}b", f"é{t}"])


def text(r, added=()):
    parts = [snippet(r, added) for _ in range(r.randrange(1, 10))]
    return "".join(p + (r.choice(SPACES) if r.random() < 0.7 else "") for p in parts)


def base(r, vocabulary, pre_tokenizer, normalizer=None, ignore_merges=False):
    t = Tokenizer(models.BPE(ignore_merges=ignore_merges))
    t.pre_tokenizer, t.decoder = pre_tokenizer, decoders.ByteLevel()
    if normalizer:
        t.normalizer = normalizer
    alphabet = pre_tokenizers.ByteLevel.alphabet()
    t.train_from_iterator([text(r) for _ in range(1500)],
                          trainers.BpeTrainer(vocab_size=vocabulary, initial_alphabet=alphabet, show_progress=False))
    return t


def split(*patterns):
    steps = [pre_tokenizers.Split(Regex(p), "isolated") for p in patterns]
    return pre_tokenizers.Sequence([*steps, pre_tokenizers.ByteLevel(add_prefix_space=False, use_regex=False)])


def llama3(r):
    t = base(r, 3000, split(LLAMA3), ignore_merges=True)
    t.add_special_tokens([AddedToken(s, normalized=False, special=True) for s in SPECIAL])
    bos = SPECIAL[0]
    t.post_processor = processors.Sequence([
        processors.ByteLevel(trim_offsets=False),
        processors.TemplateProcessing(single=[bos, "$A"], pair=[bos, "$A", bos, "$B"],
                                      special_tokens=[(bos, t.token_to_id(bos))])])
    return t


def qwen2(r):
    t = base(r, 3000, split(QWEN2), normalizers.NFC())
    t.add_special_tokens(["<|endoftext|>", "<|im_start|>", "<|im_end|>"])
    t.add_tokens([AddedToken(s, normalized=False, special=False) for s in ("<tool_call>", "</tool_call>")])
    t.post_processor = processors.ByteLevel(trim_offsets=False)
    return t


def gpt2(r):
    t = base(r, 1500, pre_tokenizers.ByteLevel(add_prefix_space=False, use_regex=True))
    t.add_special_tokens(["<|endoftext|>"])
    end = "<|endoftext|>"
    t.post_processor = processors.TemplateProcessing(single=["$A", end], special_tokens=[(end, t.token_to_id(end))])
    return t


def two_patterns(r):
    """Several patterns in sequence, as some models split numbers first; and letters by case."""
    t = base(r, 2000, split(r"\p{N}{1,3}", r"[一-龥぀-ゟ゠-ヿ]+", O200K), ignore_merges=r.random() < 0.5)
    t.add_special_tokens(["<|im_start|>"])
    return t


def added(r):
    """Every way to add a token. For one that is Latin-1 without a space, the package would decode as if it were
    written in the byte alphabet ("caf\ufffd"); that is not compared."""
    t = base(r, 1000, split(QWEN2), normalizers.NFC())
    names = ["<a>", "<a>b", "<ab>", "Token", "Tok", "<mask>", "  two", "a caf\u00e9", "a e\u0301x", "<|end|>", "日本", "_w_",
             "the", "word ", "<｜begin▁of▁sentence｜>"]
    for name in names:
        flags = {f: r.random() < 0.4 for f in ("single_word", "lstrip", "rstrip", "normalized")}
        # the package forgets whether a token that NFC changes is special
        special = r.random() < 0.4 and unicodedata.is_normalized("NFC", name)
        make = t.add_special_tokens if special else t.add_tokens
        make([AddedToken(name, **flags)])
    return t


def spaces(r):
    """Ways to write spaces, each as normalizer and pre-tokenizer."""
    prepend, replace = normalizers.Prepend("▁"), normalizers.Replace(" ", "▁")
    scheme = r.choice(["always", "first", "never"])
    return r.choice([(replace, pre_tokenizers.Split(" ", "merged_with_previous")),
                     (normalizers.Sequence([prepend, replace]), None),
                     (None, pre_tokenizers.Metaspace("▁", scheme, split=r.random() < 0.5)),
                     (normalizers.NFC(), pre_tokenizers.Split(" ", "merged_with_previous"))])


def characters(r):
    """BPE of characters, with byte_fallback."""
    t = Tokenizer(models.BPE(unk_token="<unk>", fuse_unk=True, byte_fallback=True, ignore_merges=r.random() < 0.3))
    t.pre_tokenizer = pre_tokenizers.Metaspace("▁", split=r.random() < 0.5)
    t.train_from_iterator([text(r) for _ in range(600)],
                          trainers.BpeTrainer(vocab_size=2000, limit_alphabet=150, special_tokens=["<unk>", "<s>", *BYTES],
                                              show_progress=False))
    document = json.loads(t.to_str())
    document["added_tokens"] = document["added_tokens"][:2]  # bytes are none
    t = Tokenizer.from_str(json.dumps(document))
    t.normalizer, t.pre_tokenizer = spaces(r)
    steps = [decoders.Replace("▁", " "), decoders.ByteFallback(), decoders.Fuse(), decoders.Strip(" ", 1, 0)]
    t.decoder = decoders.Sequence(steps[:r.choice([3, 4])])
    for name in ["<a>", "<a>b", "Token", " two", "the", "word ", "▁▁", "▁a", "日本", "a e\u0301x"]:
        flags = {f: r.random() < 0.4 for f in ("single_word", "lstrip", "rstrip", "normalized")}
        special = r.random() < 0.4 and not flags["normalized"]
        (t.add_special_tokens if special else t.add_tokens)([AddedToken(name, **flags)])
    t.post_processor = processors.TemplateProcessing(single=["<s>", "$A"], special_tokens=[("<s>", t.token_to_id("<s>"))])
    return t


MAKERS = {m.__name__: m for m in (llama3, qwen2, gpt2, two_patterns, added, characters)}


def sound_ids(r, vocabulary):
    """Random ids whose bytes are whole characters: for others the package writes one U+FFFD for each byte.
    `vocabulary`: ids by name."""
    byte_ids = {BYTES[name]: i for name, i in vocabulary.items() if name in BYTES}
    bytes_of = {i: b for b, i in byte_ids.items()}
    out = []
    for i in [r.randrange(len(vocabulary)) for _ in range(r.randrange(1, 40))]:
        if i not in bytes_of:
            out.append(i)
            continue
        character = chr(r.choice([0x41, 0xe9, 0x4e00, 0x1f600]) + r.randrange(20))
        out += [byte_ids[b] for b in character.encode()]
    return out


def requests(r, t, count):
    """Each with the package's answer."""
    names = [a.content for a in t.get_added_tokens_decoder().values()]
    vocabulary = t.get_vocab()
    for i in range(count):
        request = {"text": text(r, names), "special": r.random() < 0.5, "parse_special": r.random() < 0.5}
        t.encode_special_tokens = not request["parse_special"]
        expected = t.encode(request["text"], add_special_tokens=request["special"]).ids
        yield request, {"ids": expected}
        if i % 2 == 0:
            ids = expected if r.random() < 0.5 else sound_ids(r, vocabulary)
            skip = r.random() < 0.5
            decoded = t.decode(ids, skip_special_tokens=skip)
            yield {"ids": ids, "skip_special": skip}, {"text": decoded, "streamed": decoded}


def two_forms(path, r):
    """Merges as pairs, as in newer files, or as "a b"."""
    document = json.loads(path.read_text())
    merges = document["model"]["merges"]
    if r.random() < 0.5:
        document["model"]["merges"] = [m if isinstance(m, str) else " ".join(m) for m in merges]
    path.write_text(json.dumps(document, ensure_ascii=r.random() < 0.5))


def differences(runner, folder, name, asked, tokens_of):
    """Prints the first requests that RUNNER answers in another way, and returns how many there are. `asked`: pairs of a
    request and its answer."""
    lines = "".join(json.dumps(request) + "\n" for request, _ in asked)
    process = subprocess.run([runner, folder], input=lines.encode(), stdout=subprocess.PIPE)
    answers = [json.loads(line) for line in process.stdout.split(b"\n") if line]
    wrong = 0
    for (request, expected), got in zip(asked, answers):
        if got == expected:
            continue
        wrong += 1
        if wrong <= 3:
            print(f"{name}: {json.dumps(request, ensure_ascii=True)}\n  gave     {json.dumps(got)}\n"
                  f"  and not  {json.dumps(expected)}")
            if "text" in request:
                print(f"  tokens   {tokens_of(got['ids'])}\n  and not  {tokens_of(expected['ids'])}")
    if len(answers) != len(asked):
        print(f"{name}: {len(answers)} answers to {len(asked)} requests, the program ended with {process.returncode}")
        wrong += 1
    return wrong


def compare(runner, name, seed, count):
    r = random.Random(f"{seed} {name}")
    t = MAKERS[name](r)
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "tokenizer.json"
        t.save(str(path))
        two_forms(path, r)
        asked = list(requests(r, t, count))
        return len(asked), differences(runner, folder, name, asked, lambda ids: [t.id_to_token(i) for i in ids])


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("runner")
    parser.add_argument("--seed", type=int, default=int(time.time()))
    parser.add_argument("--texts", type=int, default=1000, help="for each kind of tokenizer")
    parser.add_argument("--only", choices=MAKERS)
    options = parser.parse_args()
    failures = 0
    for name in [options.only] if options.only else MAKERS:
        asked, wrong = compare(options.runner, name, options.seed, options.texts)
        failures += wrong
        print(f"{name}: {asked} requests, {wrong} with another answer")
        if wrong:
            print(f"  again: {sys.argv[0]} {options.runner} --seed {options.seed} --texts {options.texts} --only {name}")
    return 1 if failures else 0


if __name__ == "__main__":
    sys.exit(main())
