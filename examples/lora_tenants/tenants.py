#!/usr/bin/env python3
"""Four tenants send requests to one server at the same time, each for its own adapter, and each gets its task
done: tenants.py URL [ROUNDS]. Needs the package openai."""
import asyncio
import codecs
import random
import string
import sys
import time

import openai

TASKS = {"reverse": lambda s: s[::-1], "upper": str.upper, "sort": lambda s: "".join(sorted(s)),
         "rot13": lambda s: codecs.encode(s, "rot13")}


async def ask(client, tenant, word):
    """What came back, streamed, and how long the first token and all of it took."""
    began = time.monotonic()
    first, text = None, ""
    stream = await client.completions.create(model=tenant, prompt=word + "=", temperature=0, max_tokens=20, stream=True)
    async for event in stream:
        first = first or time.monotonic() - began
        text += event.choices[0].text
    return text, first, time.monotonic() - began


async def main(url, rounds):
    chance = random.Random(1)
    words = ["".join(chance.choices(string.ascii_lowercase, k=chance.randint(3, 7))) for _ in range(rounds)]
    asked = [(tenant, word) for word in words for tenant in TASKS]
    async with openai.AsyncOpenAI(base_url=url + "/v1", api_key="none", timeout=60) as client:
        began = time.monotonic()
        answers = await asyncio.gather(*(ask(client, *a) for a in asked))
        took = time.monotonic() - began
    right = 0
    for tenant, task in TASKS.items():
        mine = [(w, *a) for (t, w), a in zip(asked, answers) if t == tenant]
        good = sum(text == task(w) for w, text, _, _ in mine)
        right += good
        word, text, _, _ = mine[0]
        firsts = sorted(first for _, _, first, _ in mine)
        print(f"{tenant:<8} {word:>8} -> {text:<8}  {good} of {len(mine)} right, first token after "
              f"{firsts[len(firsts) // 2] * 1e3:.0f} ms in the median")
    print(f"{len(asked)} requests of {len(TASKS)} tenants at once, done in {took:.2f} s")
    # the model is small: it may miss a letter of a long word
    return 0 if right >= 0.95 * len(asked) else 1


if __name__ == "__main__":
    sys.exit(asyncio.run(main(sys.argv[1].rstrip("/"), int(sys.argv[2]) if len(sys.argv) > 2 else 12)))
