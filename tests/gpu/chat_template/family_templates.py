"""Chat templates in the prompt formats of model families, by the names of their tokenizers (family_tokenizers.py).

They are written for this test, with the features of Jinja that published ones use.
"""

# Thoughts are dropped before the last question of the user; adjacent answers of tools share a turn. There is no bos_token.
QWEN3 = r"""
{{- bos_token }}
{%- if tools %}
    {{- '<|im_start|>system\n' }}
    {%- if messages[0].role == 'system' %}
        {{- messages[0].content + '\n\n' }}
    {%- endif %}
    {{- "# Tools\n\nFunctions that may be called, within <tools></tools>:\n<tools>" }}
    {%- for tool in tools %}
        {{- "\n" }}
        {{- tool | tojson }}
    {%- endfor %}
    {{- "\n</tools>\n\nCall one with <tool_call>\n{\"name\": <name>, \"arguments\": <object>}\n</tool_call><|im_end|>\n" }}
{%- elif messages[0].role == 'system' %}
    {{- '<|im_start|>system\n' + messages[0].content + '<|im_end|>\n' }}
{%- endif %}
{%- set last = namespace(found=false, question=messages|length - 1) %}
{%- for m in messages[::-1] %}
    {%- set place = (messages|length - 1) - loop.index0 %}
    {%- if not last.found and m.role == "user" and m.content is string and not (m.content.startswith('<tool_response>') and m.content.endswith('</tool_response>')) %}
        {%- set last.found = true %}
        {%- set last.question = place %}
    {%- endif %}
{%- endfor %}
{%- for message in messages %}
    {%- set text = message.content if message.content is string else '' %}
    {%- if message.role == "user" or (message.role == "system" and not loop.first) %}
        {{- '<|im_start|>' + message.role + '\n' + text + '<|im_end|>' + '\n' }}
    {%- elif message.role == "assistant" %}
        {%- set thought = '' %}
        {%- if message.reasoning_content is string %}
            {%- set thought = message.reasoning_content %}
        {%- elif '</think>' in text %}
            {%- set thought = message.content.split('</think>')[0].rstrip('\n').split('<think>')[-1].lstrip('\n') %}
            {%- set text = message.content.split('</think>')[-1].lstrip('\n') %}
        {%- endif %}
        {%- if loop.index0 > last.question and (loop.last or (not loop.last and thought)) %}
            {{- '<|im_start|>' + message.role + '\n<think>\n' + thought.strip('\n') + '\n</think>\n\n' + text.lstrip('\n') }}
        {%- else %}
            {{- '<|im_start|>' + message.role + '\n' + text }}
        {%- endif %}
        {%- for call in message.tool_calls or [] %}
            {%- if (loop.first and text) or not loop.first %}
                {{- '\n' }}
            {%- endif %}
            {%- if call.function %}
                {%- set call = call.function %}
            {%- endif %}
            {{- '<tool_call>\n{"name": "' ~ call.name ~ '", "arguments": ' }}
            {{- call.arguments if call.arguments is string else call.arguments | tojson }}
            {{- '}\n</tool_call>' }}
        {%- endfor %}
        {{- '<|im_end|>\n' }}
    {%- elif message.role == "tool" %}
        {%- if loop.first or (messages[loop.index0 - 1].role != "tool") %}
            {{- '<|im_start|>user' }}
        {%- endif %}
        {{- '\n<tool_response>\n' + text + '\n</tool_response>' }}
        {%- if loop.last or (messages[loop.index0 + 1].role != "tool") %}
            {{- '<|im_end|>\n' }}
        {%- endif %}
    {%- endif %}
{%- endfor %}
{%- if add_generation_prompt %}
    {{- '<|im_start|>assistant\n' }}
    {%- if enable_thinking is defined and enable_thinking is false %}
        {{- '<think>\n\n</think>\n\n' }}
    {%- endif %}
{%- endif %}
"""

# Contents through a macro, calls in the order of their keys, and a limit for thoughts.
QWEN3_MOE = r"""
{%- macro show(content, tag=none) -%}
    {%- if tag %}{{ '<' ~ tag ~ '>\n' }}{% endif -%}
    {%- if content is string -%}
        {{ content }}
    {%- elif content is mapping or content is number -%}
        {{ content | tojson(indent=2) }}
    {%- elif content is iterable -%}
        {%- for part in content if part.type == 'text' -%}
            {{ part.text }}{{ '' if loop.last else '\n' }}
        {%- endfor -%}
    {%- endif -%}
    {%- if tag %}{{ '\n</%s>' | replace('%s', tag) }}{% endif -%}
{%- endmacro -%}
{%- set ns = namespace(system='', calls=0) -%}
{%- for message in messages if message.role in ['system', 'developer'] -%}
    {%- set ns.system = (ns.system ~ '\n' ~ show(message.content)) | trim -%}
{%- endfor -%}
{%- if tools is not none and tools is iterable -%}
    {%- set ns.system = ns.system ~ '\n\n# Tools' -%}
    {%- for tool in tools -%}
        {%- set f = tool.function | default(tool) -%}
        {%- set ns.system = ns.system ~ '\n- ' ~ f.name ~ ': ' ~ (f.description | default('no description', true)) -%}
        {%- for name, about in (f.get('parameters') or {}).get('properties', {}).items() -%}
            {%- set ns.system = ns.system ~ '\n  ' ~ loop.index ~ '. ' ~ name ~ ' (' ~ (about.type | upper) ~ ')' -%}
        {%- endfor -%}
    {%- endfor -%}
{%- endif -%}
{%- if ns.system %}{{ '<|im_start|>system\n' ~ ns.system ~ '<|im_end|>\n' }}{% endif -%}
{%- for message in messages -%}
    {%- if message['role'] in ('system', 'developer') %}{% continue %}{% endif -%}
    {%- if message.role == 'tool' -%}
        {{ '<|im_start|>user\n' ~ show(message.content, 'tool_response') ~ '<|im_end|>\n' }}
    {%- elif message.role not in ['user', 'assistant'] -%}
        {{ raise_exception("There is no role '" ~ message.role ~ "'") }}
    {%- else -%}
        {{ '<|im_start|>' ~ message.role ~ '\n' ~ show(message.content) }}
        {%- for call in message.get('tool_calls', []) -%}
            {%- set ns.calls = ns.calls + 1 -%}
            {%- if call.function.arguments is mapping -%}
                {{ '\n<tool_call>\n' ~ call.function.name ~ '(' }}
                {%- for name, value in call.function.arguments | dictsort -%}
                    {{ name ~ '=' ~ (value | tojson) ~ (', ' if not loop.last) }}
                {%- endfor -%}
                {{ ')\n</tool_call>' }}
            {%- else -%}
                {{ raise_exception('Arguments of call ' ~ ns.calls ~ ' must be an object') }}
            {%- endif -%}
        {%- endfor -%}
        {{ '<|im_end|>\n' }}
    {%- endif -%}
{%- endfor -%}
{%- if add_generation_prompt -%}
    {{ '<|im_start|>assistant\n<think>\n' }}
    {%- if not enable_thinking | default(true) or thinking_budget is defined and thinking_budget <= 0 -%}
        {{ '\n</think>\n\n' }}
    {%- endif -%}
{%- endif -%}
"""

GEMMA2 = r"""
{{- bos_token -}}
{% if messages[0]['role'] == 'system' %}
    {{- raise_exception('There is no system role') -}}
{% endif %}
{% for message in messages %}
    {%- if (message['role'] == 'user') != (loop.index0 % 2 == 0) -%}
        {{ raise_exception('Roles must alternate user/assistant/user/assistant/...') }}
    {%- endif -%}
    {%- set role = 'model' if (message['role'] == 'assistant') else message['role'] -%}
    {{ '<start_of_turn>' + role + '\n' + message['content'] | trim + '<end_of_turn>\n' }}
{%- endfor %}
{% if add_generation_prompt %}{{ '<start_of_turn>model\n' }}{% endif -%}
"""

# The system's message becomes the beginning of the first turn; contents may be parts.
GEMMA3 = r"""
{{ bos_token }}
{%- set first = '' -%}
{%- set turns = messages -%}
{%- if messages[0]['role'] == 'system' -%}
    {%- set first = (messages[0]['content'] if messages[0]['content'] is string else messages[0]['content'][0]['text']) + '\n\n' -%}
    {%- set turns = messages[1:] -%}
{%- endif -%}
{%- for message in turns -%}
    {%- if (message['role'] == 'user') != (loop.index0 % 2 == 0) -%}
        {{ raise_exception("Turn " ~ loop.index ~ " breaks the alternation of \"user\" and 'assistant'") }}
    {%- endif -%}
    {{ '<start_of_turn>' + ({'assistant': 'model'}.get(message['role'], message['role'])) + '\n' + (first if loop.first else '') }}
    {%- if message['content'] is string -%}
        {{ message['content'] | trim }}
    {%- elif message['content'] is iterable -%}
        {%- for item in message['content'] -%}
            {%- if item['type'] == 'image' -%}
                {{ '<start_of_image>' }}
            {%- elif item['type'] == 'text' -%}
                {{ item['text'] | trim }}
            {%- else -%}
                {{ raise_exception('Unknown part: ' + item | tojson) }}
            {%- endif -%}
        {%- endfor -%}
    {%- else -%}
        {{ raise_exception('Contents are texts or lists of parts') }}
    {%- endif -%}
    {{ '<end_of_turn>\n' }}
{%- endfor -%}
{%- if add_generation_prompt -%}
    {{ '<start_of_turn>model\n' }}
{%- endif -%}
"""

PHI3 = (r"{% for message in messages %}{% if message['role'] == 'system' and message['content'] %}"
        r"{{ '<|system|>' + '\n' + message['content'] + '<|end|>' + '\n' }}{% elif message['role'] == 'user' %}"
        r"{{'<|user|>' + '\n' + message['content'] + '<|end|>' + '\n'}}{% elif message['role'] == 'assistant' %}"
        r"{{'<|assistant|>' + '\n' + message['content'] + '<|end|>' + '\n'}}{% endif %}{% endfor %}"
        r"{% if add_generation_prompt %}{{ '<|assistant|>' + '\n' }}{% else %}{{ eos_token }}{% endif %}")

# With a date, and with assistants' turns marked for training.
PHI4 = r"""
{%- if not date_string is defined %}
    {%- set date_string = strftime_now('%d %b %Y') if strftime_now is defined else '26 Jul 2024' %}
{%- endif %}
{%- if messages | selectattr('role', 'equalto', 'system') | list | count == 0 %}
    {{- '<|im_start|>system<|im_sep|>Today is ' ~ date_string ~ '.<|im_end|>' }}
{%- endif %}
{%- for message in messages %}
    {%- if message.role == 'assistant' %}
        {{- '<|im_start|>assistant<|im_sep|>' }}
        {%- generation %}
        {{- message.content + '<|im_end|>' }}
        {%- endgeneration %}
    {%- elif message.role in ['system', 'user'] %}
        {{- '<|im_start|>' + message.role + '<|im_sep|>' + message.content + '<|im_end|>' }}
    {%- else %}
        {{- raise_exception('Rôle “' + message.role + '”: not one of ' + ['system', 'user', 'assistant'] | join(', ')) }}
    {%- endif %}
{%- endfor %}
{%- if add_generation_prompt %}{{ '<|im_start|>assistant<|im_sep|>' }}{% else %}{{ pad_token ~ unk_token }}{% endif %}
"""

PHI4_MINI = r"""
{%- for message in messages -%}
    {%- if message['role'] == 'system' and 'tools' in message and message['tools'] is not none -%}
        {{ '<|' + message['role'] + '|>' + message['content'] + '<|tool|>' + message['tools'] + '<|/tool|>' + '<|end|>' }}
    {%- elif message['role'] == 'system' and tools -%}
        {{ '<|system|>' + message['content'] + '<|tool|>' + tools | map(attribute='function') | list | tojson(separators=(',', ':'), sort_keys=true) + '<|/tool|><|end|>' }}
    {%- else -%}
        {{ '<|' + message['role'] + '|>' + message['content'] + '<|end|>' }}
    {%- endif -%}
{%- endfor -%}
{%- if add_generation_prompt -%}{{ '<|assistant|>' }}{%- else -%}{{ eos_token }}{%- endif -%}
"""

# The system's message goes into the first instruction.
MIXTRAL = r"""
{%- if messages[0]["role"] == "system" %}
    {%- set system = messages[0]["content"] %}
    {%- set rest = messages[1:] %}
{%- else %}
    {%- set rest = messages %}
{%- endif %}
{{- bos_token }}
{%- for message in rest %}
    {%- if (message["role"] == "user") != (loop.index0 % 2 == 0) %}
        {{- raise_exception("After an optional system message, roles must alternate user and assistant") }}
    {%- endif %}
    {%- if message["role"] == "user" %}
        {%- if loop.first and system is defined %}
            {{- " [INST] " + system + "\n\n" + message["content"] + " [/INST]" }}
        {%- else %}
            {{- " [INST] " + message["content"] + " [/INST]" }}
        {%- endif %}
    {%- elif message["role"] == "assistant" %}
        {{- " " + message["content"] + eos_token }}
    {%- else %}
        {{- raise_exception("Only the roles user and assistant follow the system message") }}
    {%- endif %}
{%- endfor %}
"""

# Roles are checked before anything is written; the system's message goes into the last instruction.
MIXTRAL_METASPACE = r"""
{%- set count = namespace(user=0) -%}
{%- set turns = messages | rejectattr('role', 'equalto', 'system') | list -%}
{%- set system = messages | selectattr('role', 'equalto', 'system') | map(attribute='content') | join('\n') -%}
{%- for m in turns if not (m.tool_calls is defined or m.role == 'tool') -%}
    {%- set wanted = loop.cycle('user', 'assistant') -%}
    {%- if m.role != wanted -%}
        {{ raise_exception('Message {} is of {!r}, not {}'.format(loop.index, m.role, wanted)) }}
    {%- endif -%}
    {%- if m.role == 'user' %}{% set count.user = count.user + 1 %}{% endif -%}
{%- endfor -%}
{{ bos_token }}
{%- set seen = namespace(user=0) -%}
{%- for m in turns -%}
    {%- if m.role == 'user' -%}
        {%- set seen.user = seen.user + 1 -%}
        [INST]{% if system and seen.user == count.user %} {{ system }}
{% endif %} {{ m.content }}[/INST]
    {%- elif m.role == 'tool' -%}
        [TOOL_RESULTS] {{ {'content': m.content, 'call_id': m.tool_call_id | default(none)} | tojson }}[/TOOL_RESULTS]
    {%- elif m.tool_calls -%}
        [TOOL_CALLS] [
        {%- for call in m.tool_calls -%}
            {%- if call.id is undefined or call.id | length != 9 -%}
                {{ raise_exception('Ids of calls have 9 characters') }}
            {%- endif -%}
            {{ {'name': call.function.name, 'arguments': call.function.arguments, 'id': call.id} | tojson }}
            {%- if not loop.last %}, {% endif -%}
        {%- endfor -%}
        ]{{ eos_token }}
    {%- else -%}
        {{ ' ' ~ m.content | trim ~ eos_token }}
    {%- endif -%}
{%- endfor -%}
"""

TEMPLATES = {name: template.lstrip("\n") for name, template in {
    "qwen3": QWEN3, "qwen3_moe": QWEN3_MOE, "gemma2": GEMMA2, "gemma3": GEMMA3, "phi3": PHI3, "phi4": PHI4,
    "phi4_mini": PHI4_MINI, "mixtral": MIXTRAL, "mixtral_metaspace": MIXTRAL_METASPACE}.items()}
