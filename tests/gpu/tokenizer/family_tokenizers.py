"""Tokenizers of model families, trained on made-up texts, in the files and with the pipelines that the families publish.

Byte-level BPE (Qwen3, Phi-4) is trained by the package `tokenizers`. The others are BPE of characters with byte_fallback,
trained by `sentencepiece` and converted to tokenizer.json as Transformers converts them.
"""
import json
from pathlib import Path

import sentencepiece
from tokenizers import (AddedToken, Regex, Tokenizer, decoders, models, normalizers, pre_tokenizers, processors)
from transformers.tokenization_utils_base import generate_merges

from tokenizers_test import LLAMA3, O200K, QWEN2, base, split, text

SPACE = "▁"


def special(name, **flags):
    return AddedToken(name, normalized=False, special=True, **flags)


def plain(name, **flags):
    return AddedToken(name, normalized=False, special=False, **flags)


def write(folder, tokenizer, model_type, settings):
    """Settings: of tokenizer_config.json, beside its added tokens."""
    added = {str(i): {"content": t.content, "lstrip": t.lstrip, "normalized": t.normalized, "rstrip": t.rstrip,
                      "single_word": t.single_word, "special": t.special}
             for i, t in tokenizer.get_added_tokens_decoder().items()}
    settings = {"added_tokens_decoder": added, "clean_up_tokenization_spaces": False} | settings
    tokenizer.save(str(folder / "tokenizer.json"))
    (folder / "tokenizer_config.json").write_text(json.dumps(settings))
    (folder / "config.json").write_text(json.dumps({"model_type": model_type}))


def template(tokenizer, *before):
    return processors.TemplateProcessing(single=[*before, "$A"], pair=[*before, "$A", "$B:1"],
                                         special_tokens=[(b, tokenizer.token_to_id(b)) for b in before])


# Byte-level BPE

def qwen(r, folder, model_type):
    t = base(r, 3000, split(QWEN2), normalizers.NFC())
    t.add_tokens([special(f"<|{n}|>") for n in ("endoftext", "im_start", "im_end", "vision_start", "vision_end", "image_pad")])
    t.add_tokens([plain(n) for n in ("<tool_call>", "</tool_call>", "<|fim_prefix|>", "<|repo_name|>", "<tool_response>",
                                     "</tool_response>", "<think>", "</think>")])
    t.post_processor = processors.ByteLevel(add_prefix_space=False, trim_offsets=False, use_regex=False)
    write(folder, t, model_type, {
        "tokenizer_class": "Qwen2Tokenizer", "add_bos_token": False, "add_prefix_space": False, "bos_token": None,
        "eos_token": "<|im_end|>", "pad_token": "<|endoftext|>", "unk_token": None, "split_special_tokens": False,
        "additional_special_tokens": ["<|im_start|>", "<|im_end|>", "<|vision_start|>", "<|vision_end|>", "<|image_pad|>"]})


def qwen3(r, folder):
    qwen(r, folder, "qwen3")


def qwen3_moe(r, folder):
    qwen(r, folder, "qwen3_moe")


def phi4(r, folder):
    """With GPT-4's pattern. Its special tokens strip the spaces around them."""
    t = base(r, 3000, split(LLAMA3))
    t.add_tokens([special(f"<|{n}|>", lstrip=True, rstrip=True)
                  for n in ("dummy_0", "endoftext", "fim_prefix", "fim_middle", "fim_suffix", "im_start", "im_end", "im_sep")])
    t.post_processor = processors.ByteLevel(trim_offsets=False)
    write(folder, t, "phi3", {"tokenizer_class": "GPT2Tokenizer", "add_prefix_space": False, "bos_token": "<|endoftext|>",
                              "eos_token": "<|im_end|>", "pad_token": "<|dummy_0|>", "unk_token": "<|endoftext|>"})


def phi4_mini(r, folder):
    """With GPT-4o's pattern, which keeps the matches alone."""
    steps = [pre_tokenizers.Split(Regex(O200K), "removed", invert=True),
             pre_tokenizers.ByteLevel(add_prefix_space=False, use_regex=False)]
    t = base(r, 3000, pre_tokenizers.Sequence(steps), ignore_merges=True)
    t.add_tokens([special("<|endoftext|>"), special("<|endofprompt|>")])
    t.add_tokens([plain(f"<|{n}|>", rstrip=r.random() < 0.5) for n in ("assistant", "end", "user", "system", "tool", "/tool")])
    t.post_processor = template(t)
    write(folder, t, "phi3", {"tokenizer_class": "GPT2TokenizerFast", "add_bos_token": False, "add_prefix_space": False,
                              "bos_token": "<|endoftext|>", "eos_token": "<|endoftext|>", "unk_token": "<|endoftext|>"})


# BPE of characters with byte_fallback

def train(r, folder, size, **options):
    """A tokenizer.model."""
    corpus = folder / "corpus"
    corpus.write_text("\n".join(text(r).replace("\0", "") for _ in range(2500)))
    sentencepiece.SentencePieceTrainer.train(
        input=str(corpus), model_prefix=str(folder / "tokenizer"), vocab_size=size, model_type="bpe", byte_fallback=True,
        normalization_rule_name="identity", remove_extra_whitespaces=False, allow_whitespace_only_pieces=True,
        split_digits=True, character_coverage=0.98, minloglevel=2, **options)
    corpus.unlink()
    (folder / "tokenizer.vocab").unlink()
    return sentencepiece.SentencePieceProcessor(str(folder / "tokenizer.model"))


def convert(pieces, tab_is_a_byte=True):
    """The model of a tokenizer.json, and added tokens for the pieces that text never becomes, or always."""
    texts = [pieces.id_to_piece(i) for i in range(pieces.get_piece_size())]
    if not tab_is_a_byte:
        texts[texts.index("<0x09>")] = "\t"
    vocabulary = {t: i for i, t in enumerate(texts)}
    scores = {t: pieces.get_score(i) for t, i in vocabulary.items()}
    t = Tokenizer(models.BPE(vocabulary, generate_merges(vocabulary, scores), unk_token="<unk>", fuse_unk=True,
                             byte_fallback=True))
    t.decoder = decoders.Sequence([decoders.Replace(SPACE, " "), decoders.ByteFallback(), decoders.Fuse()])
    return t


def strip_space(t):
    t.decoder = decoders.Sequence([decoders.Replace(SPACE, " "), decoders.ByteFallback(), decoders.Fuse(),
                                   decoders.Strip(" ", 1, 0)])


GEMMA_PIECES = ["<mask>", "<2mass>", "[@BOS@]", "<unused0>", "<unused1>", "<start_of_turn>", "<end_of_turn>",
                *("\n" * n for n in range(2, 8)), *(SPACE * n for n in range(2, 32)), "<table>", "</table>", "<b>", "</b>"]


def gemma(r, folder, model_type, pieces, tab_is_a_byte):
    """Without a mask_token: Transformers makes <mask> special, although its files do not."""
    names = ["<pad>", "<eos>", "<bos>", "<unk>"]
    trained = train(r, folder, 3000, add_dummy_prefix=False, pad_id=0, eos_id=1, bos_id=2, unk_id=3, pad_piece="<pad>",
                    eos_piece="<eos>", bos_piece="<bos>", unk_piece="<unk>", user_defined_symbols=pieces)
    t = convert(trained, tab_is_a_byte)
    t.normalizer = normalizers.Replace(" ", SPACE)
    t.pre_tokenizer = pre_tokenizers.Split(" ", "merged_with_previous")
    turns = ["<start_of_turn>", "<end_of_turn>"]
    t.add_tokens([special(p) if p in names + turns else plain(p) for p in names + pieces])
    t.post_processor = template(t, "<bos>")
    write(folder, t, model_type, {
        "tokenizer_class": "GemmaTokenizer", "add_bos_token": True, "add_eos_token": False, "bos_token": "<bos>",
        "eos_token": "<eos>", "mask_token": None, "pad_token": "<pad>", "unk_token": "<unk>", "spaces_between_special_tokens": False,
        "additional_special_tokens": turns, "use_default_system_prompt": False})


def gemma2(r, folder):
    """A tab has the place of its byte."""
    gemma(r, folder, "gemma2", GEMMA_PIECES, False)


def gemma3(r, folder):
    gemma(r, folder, "gemma3_text", [*GEMMA_PIECES, "<start_of_image>", "<end_of_image>", "<image_soft_token>"], True)


def prepend(t):
    """The pipeline of tokenizers that came from a LlamaTokenizer."""
    t.normalizer = normalizers.Sequence([normalizers.Prepend(SPACE), normalizers.Replace(" ", SPACE)])
    strip_space(t)


LLAMA_SETTINGS = {"tokenizer_class": "LlamaTokenizer", "add_eos_token": False, "bos_token": "<s>", "unk_token": "<unk>",
                  "sp_model_kwargs": {}, "use_default_system_prompt": False}


def phi3(r, folder):
    """Its tags strip the spaces behind them."""
    t = convert(train(r, folder, 2500))
    prepend(t)
    t.add_tokens([special("<unk>"), special("<s>"), plain("</s>", rstrip=True), special("<|endoftext|>")])
    t.add_tokens([special(f"<|{n}|>", rstrip=True)
                  for n in ("assistant", "placeholder1", "placeholder2", "system", "end", "user")])
    t.post_processor = template(t)
    write(folder, t, "phi3", LLAMA_SETTINGS | {"add_bos_token": False, "eos_token": "<|endoftext|>", "legacy": False,
                                               "pad_token": "<|endoftext|>"})


def mixtral(r, folder):
    t = convert(train(r, folder, 2500))
    prepend(t)
    t.add_tokens([special("<unk>"), special("<s>"), special("</s>")])
    t.post_processor = template(t, "<s>")
    write(folder, t, "mixtral", LLAMA_SETTINGS | {"add_bos_token": True, "eos_token": "</s>", "legacy": True,
                                                  "pad_token": None, "spaces_between_special_tokens": False})


def mixtral_metaspace(r, folder):
    """As newer conversions have it: a space only before the beginning of the text."""
    t = convert(train(r, folder, 2500, control_symbols=["[INST]", "[/INST]"]))
    t.pre_tokenizer = pre_tokenizers.Metaspace(SPACE, "first", split=False)
    strip_space(t)
    t.add_tokens([special(n) for n in ("<unk>", "<s>", "</s>", "[INST]", "[/INST]")])
    t.post_processor = template(t, "<s>")
    write(folder, t, "mixtral", LLAMA_SETTINGS | {"add_bos_token": True, "eos_token": "</s>", "legacy": False})


MAKERS = {m.__name__: m for m in (qwen3, qwen3_moe, gemma2, gemma3, phi3, phi4, phi4_mini, mixtral, mixtral_metaspace)}

# Their files disagree about spaces: "legacy" concerns only the tokenizer.model.
DIFFERENT_FILES = ["phi3"]


def files_to_compare(folder):
    """The files that a folder of the family may have beside its configuration."""
    both = ["tokenizer.json", "tokenizer.model"]
    return [both[:1], both[1:], both] if (Path(folder) / both[1]).exists() else [both[:1]]
