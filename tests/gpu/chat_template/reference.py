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


class Namespace(jinja2.utils.Namespace):
    """Without private attributes."""
    def __init__(*args, **kwargs):
        self, given = args[0], dict(*args[1:], **kwargs)
        for name in given:
            check_attribute(name)
        jinja2.utils.Namespace.__init__(self, given)

    def __setitem__(self, name, value):
        check_attribute(name)
        jinja2.utils.Namespace.__setitem__(self, name, value)


def check_attribute(name):
    if isinstance(name, str) and name.startswith("_"):
        raise jinja2.exceptions.SecurityError(f"{name!r} is a private attribute")


def raise_exception(message):
    raise jinja2.exceptions.TemplateError(message)


ENVIRONMENT = ImmutableSandboxedEnvironment(
    trim_blocks=True, lstrip_blocks=True, extensions=[Generation, jinja2.ext.loopcontrols])
ENVIRONMENT.filters["tojson"] = tojson
ENVIRONMENT.filters["from_json"] = ENVIRONMENT.filters["fromjson"] = json.loads  # not Jinja's
ENVIRONMENT.globals["raise_exception"] = raise_exception
ENVIRONMENT.globals["namespace"] = Namespace


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
