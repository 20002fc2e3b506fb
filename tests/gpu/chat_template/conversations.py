"""Random conversations in the format of requests: mostly valid, sometimes not."""

TEXTS = ["", " ", "Hello!", "  two  spaces  ", "What's the weather?\n", "\n\nlines\n\nof text\n", "Grüße, 你好, привет 👋🏽",
         "quotes \" and ' and \\", "{{ not a tag }} {% nor this %}", "<|im_end|>", "tabs\tand\u00a0more\u2003", "</s>[INST]",
         "\u200bzero\u200dwidth", "<think>\nhm\n</think>\n\nanswer", "</think>", "<tool_response>\nx\n</tool_response>",
         "e\u0301 combining", "\x00\x01\x1f\x7f control", "a" * 300, "ß ǆ ﬁ İ"]
TYPES = ["string", "integer", "number", "boolean", "array", "object"]


def text(random):
    if random.random() < 0.7:
        return random.choice(TEXTS)
    return "".join(chr(random.choice([random.randrange(32, 127), random.randrange(0xa1, 0x500), random.randrange(0x4e00, 0x4f00),
                                      random.randrange(0x1f300, 0x1f600), 10])) for _ in range(random.randrange(12)))


def value(random, depth=0):
    kind = random.randrange(8 if depth < 3 else 6)
    if kind == 0:
        return random.choice([None, True, False])
    if kind == 1:
        return random.choice([0, 1, -1, 7, 10**12, random.randrange(-1000, 1000)])
    if kind == 2:
        return random.choice([0.0, 0.5, -2.25, 1e-7, 1e22, 3.14159, random.uniform(-10, 10)])
    if kind < 6:
        return text(random)
    if kind == 6:
        return [value(random, depth + 1) for _ in range(random.randrange(4))]
    return {random.choice(["a", "b", "unit", "place", "ü", "x y", "items"]): value(random, depth + 1)
            for _ in range(random.randrange(4))}


def tool(random):
    names = random.sample(["city", "unit", "days", "naïve", "query"], random.randrange(4))
    function = {"name": random.choice(["get_weather", "search", "add"]), "description": text(random),
                "parameters": {"type": "object", "required": names[:1],
                               "properties": {n: {"type": random.choice(TYPES), "description": text(random)} for n in names}}}
    if random.random() < 0.2:
        function["return"] = {"type": "number"}
    return {"type": "function", "function": function}


def tool_call(random):
    arguments = {n: value(random) for n in random.sample(["city", "unit", "n"], random.randrange(4))}
    call = {"type": "function", "function": {"name": random.choice(["get_weather", "search"]), "arguments": arguments}}
    if random.random() < 0.9:
        call["id"] = random.choice(["abcdef123", "123456789", "short"] if random.random() < 0.2 else ["abcdef123"])
    if random.random() < 0.1:
        call["function"]["arguments"] = '{"city": "Paris"}'
    return call


def content(random):
    if random.random() < 0.85:
        return text(random)
    if random.random() < 0.3:
        return random.choice([None, 5, {"content": "inner"}, []])
    return [random.choice([{"type": "text", "text": text(random)}, {"type": "image"}, {"type": "audio"}])
            for _ in range(random.randrange(3))]


def messages(random):
    out = []
    if random.random() < 0.4:
        out.append({"role": "system", "content": text(random)})
    for i in range(random.randrange(7)):
        role = ["user", "assistant"][i % 2]
        if random.random() < 0.06:
            role = random.choice(["user", "assistant", "system", "tool", "other"])
        m = {"role": role, "content": content(random)}
        out.append(m)
        if role == "assistant" and random.random() < 0.3:
            m["tool_calls"] = [tool_call(random) for _ in range(random.choice([1, 1, 1, 2, 0]))]
            if random.random() < 0.4:
                m["content"] = None if random.random() < 0.5 else ""
            for call in m["tool_calls"]:
                result = {"role": random.choice(["tool", "tool", "ipython"]), "content": random.choice([text(random), value(random)])}
                if "id" in call:
                    result["tool_call_id"] = call["id"]
                out.append(result)
        if random.random() < 0.03:
            del m["content"]
    return out


def variables(random):
    v = {"messages": messages(random), "add_generation_prompt": random.random() < 0.5, "bos_token": "<s>", "eos_token": "</s>",
         "strftime_now": f"20{random.randrange(10, 40)}-{random.randrange(1, 13):02}-{random.randrange(1, 29):02}"}
    if random.random() < 0.5:
        v["tools"] = [tool(random) for _ in range(random.randrange(1, 4))] if random.random() < 0.7 else None
    for name, choices in (("date_string", ["1 Jan 2025"]), ("tools_in_user_message", [True, False]),
                          ("builtin_tools", [["search"], ["code_interpreter", "search"]]), ("enable_thinking", [True, False])):
        if random.random() < 0.2:
            v[name] = random.choice(choices)
    return v
