"""jinja2 with the settings of Transformers for chat templates."""
import datetime
import functools
import json
import warnings

import jinja2
import jinja2.ext
from jinja2 import nodes
from jinja2.sandbox import ImmutableSandboxedEnvironment


class Generation(jinja2.ext.Extension):
    """{% generation %}: Transformers records the position of its text; the text itself does not change."""
    tags = {"generation"}

    def parse(self, parser):
        line = next(parser.stream).lineno
        body = parser.parse_statements(["name:endgeneration"], drop_needle=True)
        return nodes.CallBlock(self.call_method("_content"), [], [], body).set_lineno(line)

    def _content(self, caller):
        return caller()


def tojson(x, ensure_ascii=False, indent=None, separators=None, sort_keys=False):
    return json.dumps(x, ensure_ascii=ensure_ascii, indent=indent, separators=separators, sort_keys=sort_keys)


def raise_exception(message):
    raise jinja2.exceptions.TemplateError(message)


ENVIRONMENT = ImmutableSandboxedEnvironment(
    trim_blocks=True, lstrip_blocks=True, extensions=[Generation, jinja2.ext.loopcontrols])
ENVIRONMENT.filters["tojson"] = tojson
ENVIRONMENT.filters["from_json"] = ENVIRONMENT.filters["fromjson"] = json.loads  # not Jinja's
ENVIRONMENT.globals["raise_exception"] = raise_exception


@functools.lru_cache(maxsize=32)
def compiled(template):
    with warnings.catch_warnings():  # Python's, about constants that templates call or index
        warnings.simplefilter("ignore")
        return ENVIRONMENT.from_string(template)


def render(template, variables):
    """(text, None) or (None, error)."""
    variables = dict(variables)
    date = variables.pop("strftime_now", None)

    def strftime_now(form):
        return datetime.datetime.fromisoformat(date).strftime(form)

    try:
        return compiled(template).render(strftime_now=strftime_now, **variables), None
    except Exception as e:  # jinja2's own, and Python's from inside of templates
        return None, f"{type(e).__name__}: {e}"
