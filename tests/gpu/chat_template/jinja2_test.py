#!/usr/bin/env python3
"""Compares chat templates with jinja2, their output and their errors: templates of model families with random
conversations, and random templates.

    jinja2_test.py TEMPLATE_RUNNER [--seed N] [--seconds N] [--case N]

Case n of a seed is always the same; a failure prints the command that repeats it alone."""
import argparse
import json
import random
import subprocess
import sys
import time
from collections import Counter
from pathlib import Path

import conversations
import random_templates
import reference

FAMILIES = {p.name: p.read_text() for p in sorted((Path(__file__).parent / "templates").glob("*.jinja"))}


class Runner:
    """tests/gpu/chat_template/template_runner.cpp"""

    def __init__(self, program):
        self.process = subprocess.Popen([program], stdin=subprocess.PIPE, stdout=subprocess.PIPE)

    def render(self, template, variables):
        """(text, None) or (None, error)."""
        request = json.dumps({"template": template, "variables": variables})
        self.process.stdin.write(request.encode() + b"\n")
        self.process.stdin.flush()
        line = self.process.stdout.readline()
        if not line:
            raise SystemExit(f"the program that renders templates ended ({self.process.wait()})")
        answer = json.loads(line)
        return answer.get("text"), answer.get("error")


# Constructs that gpu/chat_template refuses although jinja2 supports them; each is listed in its contract.
KNOWN = {
    "does not fit into 64 bits": "integers without bounds",
    "cannot be printed": "addresses",
    "formatting a string with %": "Python's % on texts",
    "cannot be the key of a dict here": "tuples as keys",
    "the number is too large": "",
    "is not supported": "rarely used methods",
}


def difference(got, error, expected, wrong):
    """The difference, or nothing; and the kind of the case."""
    if error is not None and wrong is None:
        for text, kind in KNOWN.items():
            if text in error:
                return None, "refused: " + (kind or text)
        return f"refused: {error}\nexpected: {expected!r}", "failure"
    if error is None and wrong is not None:
        return f"rendered: {got!r}\nexpected: {wrong}", "failure"
    if wrong is not None:
        if wrong.startswith("TemplateError: ") and wrong[len("TemplateError: "):] not in error:
            return f"refused: {error}\nexpected: {wrong}", "failure"
        return None, "both refuse"
    return (None, "same text") if got == expected else (f"rendered: {got!r}\nexpected: {expected!r}", "failure")


def make(seed, case):
    """(kind, template, variables)"""
    source = random.Random(f"{seed}/{case}")
    if case % 4 == 0:
        name = list(FAMILIES)[case // 4 % len(FAMILIES)]
        return name, FAMILIES[name], conversations.variables(source)
    return "random", random_templates.make(source), random_templates.VARIABLES


def prints_address(text):
    """Python's <generator object ... at 0x7f...>, <Macro 'm'>, <function ...>: only Python prints these."""
    return text is not None and any(w in text for w in (" at 0x", "<Macro", "<Namespace", "<built-in", "<class", "<bound", "<LoopContext", "range("))


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("runner")
    parser.add_argument("--seed", type=int, default=int(time.time()))
    parser.add_argument("--seconds", type=float, default=15)
    parser.add_argument("--cases", type=int, help="number of cases, without a time limit")
    parser.add_argument("--case", type=int, help="run only this case")
    parser.add_argument("--failures", type=int, default=5, help="stop after this number")
    options = parser.parse_args()

    runner = Runner(options.runner)
    end = time.monotonic() + options.seconds
    kinds, failures = Counter(), 0
    case = first = options.case or 0
    while True:
        name, template, variables = make(options.seed, case)
        expected, wrong = reference.render(template, variables)
        got, error = runner.render(template, variables)
        what, kind = difference(got, error, expected, wrong)
        if what and got is None and prints_address(expected):
            what, kind = None, "refused: addresses"
        kinds["family" if name != "random" else "random", kind] += 1
        if what or options.case is not None:
            print(f"{name}: {what}\ntemplate: {template if name == 'random' else ''}", flush=True)
            if name != "random":
                print(json.dumps(variables, ensure_ascii=False))
        if what:
            failures += 1
            print(f"again: {sys.argv[0]} {options.runner} --seed {options.seed} --case {case}\n", flush=True)
        case += 1
        done = case - first >= options.cases if options.cases else time.monotonic() > end
        if options.case is not None or failures == options.failures or done:
            break
    print(f"seed {options.seed}: {case - first} templates, {failures} failures")
    for (name, kind), count in sorted(kinds.items()):
        print(f"  {name}, {kind}: {count}")
    # a test that compares nothing would also pass
    compared = [kinds[name, "same text"] for name in ("family", "random")]
    return 1 if failures or (options.case is None and min(compared) < 100) else 0


if __name__ == "__main__":
    sys.exit(main())
