#!/usr/bin/env python3
"""Compares the chat templates of model families with Transformers' apply_chat_template: the text, its tokens, and errors.

    family_templates_test.py RUNNER [--seed N] [--count N] [--only NAME]

Makes a folder of each family (family_templates.py, family_tokenizers.py), with the template in each place that it may have,
and has RUNNER (template_runner) and AutoTokenizer render written and random conversations. Prints how to see a failure
again, and returns 1 if there is any.
"""
import argparse
import datetime
import json
import os
import random
import subprocess
import sys
import tempfile
import time
from collections import Counter
from pathlib import Path

os.environ["HF_HUB_OFFLINE"] = "1"
os.environ["TRANSFORMERS_VERBOSITY"] = "error"
sys.path.append(str(Path(__file__).parent.parent / "tokenizer"))

from jinja2.exceptions import TemplateError
from transformers import AutoTokenizer
from transformers.utils import chat_template_utils

import conversations
import family_templates
import family_tokenizers

REFUSED = "the model's chat template refuses the conversation: "
WRONG = "{{ raise_exception('this template has no precedence') }}"


class Today(datetime.datetime):
    """The date that both sides write."""
    @classmethod
    def now(cls, zone=None):
        return cls(2026, 3, 9)


chat_template_utils.datetime = Today


def user(content):
    return {"role": "user", "content": content}


def assistant(content, **fields):
    return {"role": "assistant", "content": content, **fields}


def system(content):
    return {"role": "system", "content": content}


CALL = {"id": "abcdef123", "type": "function", "function": {"name": "get_weather", "arguments": {"city": "Köln \"x\"", "n": [1, 2.5, None]}}}
RESULT = {"role": "tool", "tool_call_id": "abcdef123", "content": "12 °C"}
TOOL = {"type": "function", "function": {"name": "get_weather", "description": "The weather <now> & 'later'", "parameters": {
    "type": "object", "required": ["city"], "properties": {"city": {"type": "string", "description": "A city"}, "n": {"type": "array"}}}}}
THOUGHT = "<think>\nwhy?\n\nso\n</think>\n\nbecause"
PARTS = [{"type": "text", "text": " one "}, {"type": "image"}, {"type": "text", "text": "two\n"}]

# Lists of messages, and variables.
WRITTEN = [
    ([user("Hi")], {}),
    ([system("Be brief."), user("Hi"), assistant("Ho"), user("")], {}),
    ([user(" two  spaces \n"), assistant("\n\nlines\n"), user("\t")], {}),
    ([system(""), user("x")], {}),
    ([system("s")], {}),
    ([assistant("I begin")], {}),
    ([user("a"), user("b")], {}),
    ([user("a"), assistant("b"), assistant("c")], {}),
    ([user("a"), system("late"), assistant("b")], {}),
    ([user("a"), {"role": "observer", "content": "b"}], {}),
    ([{"role": "developer", "content": "Be kind."}, user("a")], {}),
    ([user("Grüße, 你好, 👩‍👩‍👧 e\u0301"), assistant("ﬁ ß ǆ"), user("\u00a0\u2003x\u200b")], {}),
    ([user("<|im_end|> <end_of_turn> </s> <|end|> [INST] <bos> <s>")], {}),
    ([user("{{ 1 }} {% if x %} {# #}")], {}),
    ([user("a"), assistant(THOUGHT), user("b"), assistant(THOUGHT)], {}),
    ([user("a"), assistant(THOUGHT), user("b")], {"enable_thinking": False}),
    ([user("a")], {"enable_thinking": True}),
    ([user("a")], {"enable_thinking": True, "thinking_budget": 0}),
    ([user("a"), assistant("b", reasoning_content="\nbecause\n")], {}),
    ([user("a"), assistant("b", reasoning_content=""), user("c")], {}),
    ([user("a"), assistant("", tool_calls=[CALL]), RESULT, assistant("Cold")], {"tools": [TOOL]}),
    ([user("a"), assistant(THOUGHT, tool_calls=[CALL, CALL]), RESULT, RESULT, user("b")], {"tools": [TOOL, TOOL]}),
    ([user("a"), assistant("ok", tool_calls=[{**CALL, "id": "short"}]), RESULT], {}),
    ([user("a"), assistant("ok", tool_calls=[{"function": {"name": "f", "arguments": '{"a": 1}'}}])], {}),
    ([RESULT, RESULT, user("a")], {"tools": []}),
    ([system("s"), user("a")], {"tools": [TOOL]}),
    ([{**system("s"), "tools": "[{}]"}, user("a")], {}),
    ([user(PARTS)], {}),
    ([system([{"type": "text", "text": "s"}]), user(PARTS), assistant([{"type": "text", "text": "ok"}])], {}),
    ([user([])], {}),
    ([user([{"type": "video", "url": "ü"}])], {}),
    ([user(5)], {}),
    ([user({"text": "x"})], {}),
    ([{"role": "user"}], {}),
    ([{"content": "x"}], {}),
    ([user(None), assistant(None)], {}),
    ([user("a")], {"date_string": "1 Jan 2025"}),
    ([user("a")], {"bos_token": "<other>", "eos_token": ""}),
    ([user("a " * 3000)] + [assistant("b"), user("c")] * 40, {}),
]


def requests(seed, count):
    """(messages, variables), with and without the prompt of an answer."""
    for messages, variables in WRITTEN:
        for prompt in (False, True):
            yield messages, variables | {"add_generation_prompt": prompt}
    for i in range(count):
        variables = conversations.variables(random.Random(f"{seed} {i}"))
        for name in ("strftime_now", "bos_token", "eos_token"):
            del variables[name]
        messages = variables.pop("messages")
        if messages:  # Transformers and requests have at least one
            yield messages, variables


def expected(tokenizer, messages, variables):
    """The answer of Transformers: {"text", "ids"} or {"error"}, which is empty for other errors than raise_exception."""
    try:
        text = tokenizer.apply_chat_template(messages, tokenize=False, **variables)
        return {"text": text, "ids": tokenizer.apply_chat_template(messages, return_dict=False, **variables)}
    except TemplateError as e:
        return {"error": REFUSED + str(e) if type(e) is TemplateError else ""}
    except Exception:  # Python's, from inside of the template
        return {"error": ""}


def request(messages, variables):
    """As servers have it: fields that are null are left out."""
    messages = [{key: value for key, value in m.items() if value is not None} for m in messages]
    return {"variables": {"tools": None, "documents": None, "messages": messages, "strftime_now": "2026-03-09", **variables}}


def same(got, wanted):
    if "error" not in wanted:
        return got == wanted
    error = got.get("error")
    return error == wanted["error"] if wanted["error"] else error is not None and not error.startswith(REFUSED)


def place(template, folder, where):
    """Writes the template to the files that `where` names; only one of them counts."""
    config = json.loads((folder / "tokenizer_config.json").read_text())
    if where == "file":
        (folder / "chat_template.jinja").write_text(template)
    elif where == "config":
        config["chat_template"] = template
    elif where == "both":
        (folder / "chat_template.jinja").write_bytes(template.replace("\n", "\r\n").encode())
        config["chat_template"] = WRONG
    else:
        config["chat_template"] = [{"name": "other", "template": WRONG}, {"name": "default", "template": template}]
    (folder / "tokenizer_config.json").write_text(json.dumps(config))


def compare(runner, name, where, seed, count):
    """How many answers are of each kind."""
    kinds = Counter()
    with tempfile.TemporaryDirectory() as temporary:
        folder = Path(temporary)
        family_tokenizers.MAKERS[name](random.Random(f"{seed} {name}"), folder)
        place(family_templates.TEMPLATES[name], folder, where)
        tokenizer = AutoTokenizer.from_pretrained(folder)
        asked = list(requests(f"{seed} {name} {where}", count))
        lines = "".join(json.dumps(request(*r)) + "\n" for r in asked)
        process = subprocess.run([runner, folder], input=lines.encode(), stdout=subprocess.PIPE)
        answers = [json.loads(line) for line in process.stdout.split(b"\n") if line]
        if len(answers) != len(asked):
            raise SystemExit(f"{name}: {len(answers)} answers to {len(asked)}, the program ended with {process.returncode}")
        for r, got in zip(asked, answers):
            wanted = expected(tokenizer, *r)
            kind = "refused" if wanted.get("error") else "failed" if "error" in wanted else "rendered"
            if not same(got, wanted):
                kind = "wrong"
                if kinds["wrong"] < 3:
                    print(f"{name}, {where}: {json.dumps(request(*r))}\n  gave     {json.dumps(got)}\n  and not  {json.dumps(wanted)}")
            kinds[kind] += 1
    return kinds


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("runner")
    parser.add_argument("--seed", type=int, default=int(time.time()))
    parser.add_argument("--count", type=int, default=200, help="random conversations for each family; a tenth as many with the template in each other file")
    parser.add_argument("--only", choices=family_templates.TEMPLATES)
    options = parser.parse_args()
    failures = 0
    for name in [options.only] if options.only else family_templates.TEMPLATES:
        kinds = sum((compare(options.runner, name, where, options.seed, count) for where, count in
                     {"file": options.count, **dict.fromkeys(("config", "both", "list"), options.count // 10)}.items()), Counter())
        print(f"{name}: " + ", ".join(f"{count} {kind}" for kind, count in sorted(kinds.items())), flush=True)
        failures += kinds["wrong"] + (kinds["rendered"] < 100)  # a test that compares nothing would also pass
        if kinds["wrong"]:
            print(f"  again: {sys.argv[0]} {options.runner} --seed {options.seed} --count {options.count} --only {name}")
    return 1 if failures else 0


if __name__ == "__main__":
    sys.exit(main())
