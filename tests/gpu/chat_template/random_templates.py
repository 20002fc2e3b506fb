"""Random templates of the subset that gpu/chat_template supports, and variables for them. Left out are letters
with a case mapping to several letters, and the escaping that | safe causes for texts appended to it."""

VARIABLES = {
    "n": 7, "neg": -3, "big": 123456789012, "f": 2.5, "tiny": 1e-7, "huge": 1e16, "yes": True, "no": False, "nothing": None,
    "s": "Hello, World", "u": "Grüße 你好 👋", "blank": "", "sp": "  two  words \n", "digits": " 42 ", "lines": "a\nb\n\n c\n",
    "xs": [3, 1, 2], "names": ["bob", "Alice", "carol", "Bob"], "mixed": [1, "a", None, 2.0, True], "empty": [],
    "pairs": [["a", 1], ["b", 2]], "d": {"b": 1, "a": [1, 2], "items": "x", "ü": None}, "none_dict": {},
    "people": [{"name": "Ann", "age": 30, "tags": ["x", "y"]}, {"name": "bo", "age": 4, "tags": []}, {"name": "Cy", "age": 30}],
}
STRINGS = ["''", "'a'", "\"it's\"", "'b\\n'", "'Ünï'", "', '", "'\\\\'", "'x' 'y'", "'\\u00e9\\t'", "' pad '", "'42'", "'-1.5e3'",
           "'l'", "'name'", "'aB cD-eF'", "' <|longer than fits in place|> '"]
NUMBERS = ["0", "1", "2", "3", "10", "1_000", "0.5", "2.0", "1e3", "1.5e-8", "12345678901234567.0"]
TEXT_FILTERS = ["trim", "upper", "lower", "title", "capitalize", "string", "reverse", "tojson", "replace('l', 'L', 1)",
                "replace('', '-')", "trim('HdoG ')", "list | join('/')", "first", "last", "default('x', true)"]
TEXT_METHODS = ["strip()", "lstrip()", "rstrip()", "upper()", "lower()", "title()", "capitalize()", "replace('', '.', 2)",
                "removeprefix('H')", "removesuffix('d')", "lstrip('H ')", "rstrip('d\\n ')", "replace('l', '', 1)"]
JSON = ["", "", "(indent=2)", "(ensure_ascii=true)", "(separators=(',', ':'))", "(indent='-')", "(indent=0)", "(sort_keys=true)",
        "(indent=2, separators=(', ', ' = '))"]
TEXT_FORMATS = ["{}", "[{:>12}]", "{:*^9.3}|", "{0}{0}", "{:<{w}}|", "{!r:>9}", "{{{}}}", "{0[0]}", "{:05}", "{!s:.2}"]
NUMBER_FORMATS = ["{}", "{:5}|", "{:.2f}", "{:8.1%}", "{:e}", "{:.3g}", "{:,}", "{:+}", "{: }", "{:<{w}}|", "{:09.3f}", "{:x}", "{:#b}",
                  "{:_d}", "{:E}", "{:^+12.1f}|", "{:=+8}"]
MAPPED = ["'string'", "'tojson'", "'default', 1", "'int'", "'upper'", "'trim'", "'replace', 'a', 'b'", "'title'"]
SELECTED = [", 'defined'", ", 'equalto', 30", ", 'string'", ", 'none'", ", 'in', ['Ann', 1, 'x']", ", 'ne', 1", ", '==', 'bo'",
            ", 'sequence'", ", 'boolean'", ", 'mapping'"]
ATTRIBUTES = ["name", "age", "tags", "a", "b", "items", "missing", "0", "role", "append"]
TESTS = ["defined", "undefined", "none", "string", "number", "integer", "float", "boolean", "true", "false", "mapping", "iterable",
         "sequence", "eq(1)", "equalto('a')", "in xs", "in([1, none])", "callable", "ne 1"]
NUMBER_TESTS = ["even", "odd", "divisibleby(3)", "divisibleby 2", "lt(3)", "ge 2", "in xs", "number"]


class Maker:
    def __init__(self, random):
        self.random = random
        self.names = list(VARIABLES)
        self.loops = 0
        self.macros = []
        self.spaces = []
        self.fresh = 0

    def pick(self, *choices):
        return self.random.choice(choices)()

    def chance(self, p):
        return self.random.random() < p

    # expressions

    def name(self):
        return self.random.choice(self.names)

    def literal(self):
        return self.random.choice([self.random.choice(NUMBERS), self.random.choice(STRINGS), "true", "False", "none", "None"])

    def mapping(self, depth):
        keys = [self.random.choice(["'k'", "'a'", "1", "true", "none", "2.5", "'k' ~ 'l'"]) for _ in range(self.random.randrange(3))]
        return "{" + ", ".join(f"{k}: {self.expression(depth + 1)}" for k in keys) + "}"

    # An expression of a given type, so that most templates render; sometimes of any type, so that some are
    # refused.

    def expression(self, depth=0, kind=None):
        if kind is None or self.chance(0.01):
            kind = self.random.choice(["text", "text", "number", "truth", "list", "dict", "any"])
        if kind == "any":
            return self.anything(depth)
        out = getattr(self, kind)(depth)
        if self.chance(0.04) and depth < 3:
            other = self.expression(depth + 1, kind)
            return f"({out} if {self.truth(depth + 1)} else {other})"
        return f"({out})" if self.chance(0.05) else out

    def anything(self, depth):
        choices = [self.name, self.name, self.literal]
        if depth < 3:
            choices += [lambda: f"{self.expression(depth + 1, 'list')}[{self.random.choice(['0', '1', '-1', '7'])}]",
                        lambda: f"{self.expression(depth + 1, 'dict')}.{self.random.choice(ATTRIBUTES[:7])}",
                        lambda: f"{self.expression(depth + 1, 'dict')}[{self.expression(depth + 1, 'text')}]",
                        lambda: f"({self.random.choice(['n', 's', 'd', 'x', 'nothing'])}.{self.random.choice(ATTRIBUTES)})",
                        lambda: f"({self.name()} {self.random.choice(['or', 'and'])} {self.expression(depth + 1)})",
                        lambda: f"({self.name()}{self.index(depth)})",
                        lambda: f"{self.name()} | default({self.expression(depth + 1)}{self.random.choice(['', ', true'])})",
                        lambda: f"{self.expression(depth + 1, 'list')} | {self.random.choice(['first', 'last'])}",
                        lambda: f"{self.expression(depth + 1, 'dict')}.get({self.expression(depth + 1, 'text')}, {self.literal()})",
                        lambda: f"{self.expression(depth + 1, 'list')} | {self.random.choice(['min', 'max', 'max(true)'])}",
                        lambda: f"people | {self.random.choice(['min', 'max'])}(attribute='{self.random.choice(['name', 'age', 'tags.0'])}')",
                        lambda: f"{self.expression(depth + 1)} | tojson | from_json",
                        lambda: self.call()]
        return self.pick(*choices)

    def call(self):
        if not self.macros:
            return self.name()
        name, parameters = self.random.choice(self.macros)
        given = [self.expression(2) for _ in range(self.random.randrange(parameters + 1 + self.chance(0.02)))]
        if self.chance(0.2) and len(given) < parameters:
            given.append(f"p{parameters - 1}={self.expression(2)}")
        return f"{name}({', '.join(given)})"

    def text(self, depth):
        t, e = (lambda: self.expression(depth + 1, "text")), (lambda: self.expression(depth + 1))
        if depth > 2 or self.chance(0.3):
            return self.random.choice([*(["s", "u", "blank", "sp", "digits", "lines"] * 2), *STRINGS])
        f = lambda filters: f"{t()} | {self.random.choice(filters)}"
        return self.pick(
            lambda: f"{t()} + {t()}", lambda: f"({e()} ~ {e()} ~ {e()})", lambda: f"{t()} * {self.random.choice(['2', '0', '-1'])}",
            lambda: f"({t()}){self.index(depth)}", lambda: f(TEXT_FILTERS), lambda: f(TEXT_FILTERS),
            lambda: f"{t()} | replace({t()}, {t()})", lambda: f"{t()} | trim({t()})", lambda: f"{e()} | string",
            lambda: f"({t()}).{self.random.choice(TEXT_METHODS)}", lambda: f"({t()}).{self.random.choice(TEXT_METHODS)}",
            lambda: f"({t()}).replace({t()}, {t()})", lambda: f"({t()}).strip({t()})", lambda: f"({t()}).join({self.texts(depth + 1)})",
            lambda: f"'{self.random.choice(TEXT_FORMATS)}'.format({t()}, w=6)",
            lambda: f"'{self.random.choice(NUMBER_FORMATS)}'.format({self.expression(depth + 1, 'number')}, w=7)",
            lambda: f"'{{}}-{{}} {{a}} {{b.name}} {{b[age]}}'.format({e()}, {t()}, a={e()}, b={self.expression(depth + 1, 'dict')})",
            lambda: f"{self.expression(depth + 1, 'list')} | join({t()})", lambda: f"{e()} | tojson{self.random.choice(JSON)}",
            lambda: f"people | join(', ', attribute='{self.random.choice(['name', 'age', 'tags', 'missing', 'tags.0'])}')",
            lambda: f"{t()} | indent({self.random.choice(['', '2', '3, true', 'width=1, blank=true', chr(39) + '> ' + chr(39)])})")

    def texts(self, depth):
        t = lambda: self.expression(depth + 1, "text")
        return self.pick(lambda: "names", lambda: f"[{t()}, {t()}]", lambda: f"({t()}).split()", lambda: f"({t()}).splitlines()",
                         lambda: f"({t()}).split({self.random.choice(STRINGS[1:])}{self.random.choice(['', ', 1', ', 2', ', maxsplit=1'])})",
                         lambda: f"({t()}).rsplit({self.random.choice(STRINGS[1:] + ['none'])}, {self.random.choice(['1', '2', '0'])})",
                         lambda: f"({t()}).split(None, {self.random.choice(['1', '0', '2'])})")

    def number(self, depth):
        m = lambda: self.expression(depth + 1, "number")
        if depth > 2 or self.chance(0.4):
            return self.random.choice([*NUMBERS, "n", "neg", "f", "tiny", "huge", "big", "yes"])
        t, l = (lambda: self.expression(depth + 1, "text")), (lambda: self.expression(depth + 1, "list"))
        return self.pick(
            lambda: f"({m()} {self.random.choice(['+', '-', '*', '/', '//', '%', '-', '+'])} {m()})",
            lambda: f"({m()} {self.random.choice(['//', '%', '/'])} {self.random.choice(['2', '-3', '0.5', 'n', 'neg', '-2.5'])})",
            lambda: f"-{m()}", lambda: f"{m()} | abs", lambda: f"{t()} | length", lambda: f"{l()} | {self.random.choice(['length', 'count'])}",
            lambda: f"{m()} | round({self.random.choice(['', '1', '2', '0', chr(39) * 0 + '3'])})",
            lambda: f"{m()} | round({self.random.choice(['0', '1', '2'])}, '{self.random.choice(['floor', 'ceil', 'common'])}')",
            lambda: f"{self.random.choice([t, m, self.name])()} | int({self.random.choice(['', '5', 'none', 'default=-1'])})",
            lambda: f"{self.random.choice([t, m])()} | float({self.random.choice(['', '1.5'])})",
            lambda: f"({t()}).{self.random.choice(['find', 'rfind', 'count'])}({t()})", lambda: f"({l()}).count({self.expression(depth + 1)})",
            lambda: f"{self.random.choice(['n', 'neg', 'f', '2', '-2'])} ** {self.random.choice(['0', '2', '3', '-1'])}")

    def truth(self, depth):
        if depth > 3 or self.chance(0.2):
            return self.random.choice(["yes", "no", "true", "False", self.name()])
        e, t, b = (lambda: self.expression(depth + 1)), (lambda: self.expression(depth + 1, "text")), (lambda: self.truth(depth + 1))
        m, l = (lambda: self.expression(depth + 1, "number")), (lambda: self.expression(depth + 1, "list"))
        order = lambda: self.random.choice(["<", "<=", ">", ">="])
        return self.pick(
            lambda: f"({e()} {self.random.choice(['==', '!='])} {e()})", lambda: f"({m()} {order()} {m()})",
            lambda: f"({t()} {order()} {t()})", lambda: f"({m()} {order()} {m()} {order()} {m()})",
            lambda: f"({t()} {self.random.choice(['in', 'not in'])} {t()})", lambda: f"({e()} {self.random.choice(['in', 'not in'])} {l()})",
            lambda: f"({t()} in {self.expression(depth + 1, 'dict')})", lambda: f"({b()} {self.random.choice(['and', 'or'])} {b()})",
            lambda: f"(not {b()})", lambda: f"({self.anything(depth + 1)} is {self.random.choice(['', '', 'not '])}{self.random.choice(TESTS)})",
            lambda: f"({m()} is {self.random.choice(NUMBER_TESTS)})",
            lambda: f"({t()}).{self.random.choice(['startswith', 'endswith'])}({self.random.choice([t(), '(' + t() + ', ' + t() + ')'])})")

    def list(self, depth):
        l, e = (lambda: self.expression(depth + 1, "list")), (lambda: self.expression(depth + 1))
        if depth > 2 or self.chance(0.3):
            return self.random.choice(["xs", "names", "mixed", "empty", "pairs", "people", "[]", "()", "[1, 'a']", "(1,)", "range(4)|list"])
        attribute = lambda: self.random.choice(["name", "age", "tags", "tags.0", "missing"])
        return self.pick(
            lambda: f"[{e()}, {e()}]", lambda: f"({e()},)", lambda: f"({e()}, {e()})", lambda: self.texts(depth),
            lambda: f"([{e()}] + [{e()}])", lambda: f"({l()})[{self.slice()}]", lambda: f"({l()})[{self.slice()}]",
            lambda: f"{l()} | {self.random.choice(['list', 'reverse | list', 'select | list', 'reject | list'])}",
            lambda: f"{self.expression(depth + 1, 'text')} | list", lambda: f"{self.texts(depth)} | sort({self.random.choice(['', 'true', 'case_sensitive=true'])})",
            lambda: f"{self.random.choice(['xs', 'names', '[2.5, 1, -1]'])} | sort(reverse={self.random.choice(['true', 'no', '1'])})",
            lambda: f"people | sort(attribute='{self.random.choice(['name', 'age', 'age,name'])}', reverse=true)",
            lambda: f"{self.random.choice(['names', 'xs', 'mixed', 'people'])} | unique{self.random.choice(['', '(true)', '(attribute=' + chr(39) + '0' + chr(39) + ')'])} | list",
            lambda: f"people | map(attribute='{attribute()}'{self.random.choice(['', ', default=0'])}) | list",
            lambda: f"{l()} | map({self.random.choice(MAPPED)}) | list",
            lambda: f"people | {self.random.choice(['selectattr', 'rejectattr'])}('{attribute()}'{self.random.choice(SELECTED)}) | list",
            lambda: f"{l()} | {self.random.choice(['select', 'reject'])}({self.random.choice(SELECTED)[2:]}) | list",
            lambda: f"{self.expression(depth + 1, 'dict')} | {self.random.choice(['items | list', 'dictsort', 'list', 'dictsort(reverse=true)'])}",
            lambda: f"({self.expression(depth + 1, 'dict')}).{self.random.choice(['items', 'keys', 'values'])}(){self.random.choice(['', ' | list'])}",
            lambda: f"range({self.random.choice(['3', '1, 4', '5, 0, -2', 'n', '0', '2, 2'])})[{self.slice()}] | list")

    def dict(self, depth):
        e = lambda: self.expression(depth + 1)
        if depth > 2 or self.chance(0.4):
            return self.random.choice(["d", "none_dict", "people[0]", "{}", "{'a': 1}", "dict(pairs)"])
        return self.pick(lambda: self.mapping(depth), lambda: self.mapping(depth), lambda: f"dict(d, z={e()})", lambda: f"dict(a={e()})",
                         lambda: f"dict([('k', {e()})])", lambda: "people[1]")

    def slice(self):
        part = lambda: self.random.choice(["", "", "0", "1", "-1", "2", "-3", "n", "none"])
        return self.random.choice([f"{part()}:{part()}", f"{part()}:{part()}:{self.random.choice(['', '1', '2', '-1', '-2', '3'])}"])

    def index(self, depth):
        return self.random.choice([f"[{self.random.choice(['0', '1', '-1', '5', 'true', 'n'])}]", f"[{self.slice()}]"])

    # statements

    def tag(self, content):
        begin = self.random.choice(["{%", "{%", "{%", "{%-", "{%+"])
        end = self.random.choice(["%}", "%}", "%}", "-%}", "+%}"])
        return f"{begin} {content} {end}"

    def space(self):
        return self.random.choice(["", "", " ", "\n", "\n  ", "\n\n", "  \n", "\t", "\r\n", "\u00a0\n"])

    def data(self):
        return self.random.choice(["text", "{", "}", "a {b}", "é", "'", "# x", "% y", "end"]) + self.space()

    def print(self):
        begin, end = self.random.choice(["{{", "{{", "{{-", "{{+ "]), self.random.choice(["}}", "}}", "-}}"])
        # only on the whole: text appended to a safe text would be escaped
        if self.chance(0.05):
            return f"{begin} ({self.expression()}) | safe {end}"
        return f"{begin} {self.expression()} {end}"

    def comment(self):
        return self.random.choice(["{# note #}", "{#- note -#}", "{# {{ x }} +#}", "{#+ a\nb #}", "{##}", "{#-#}"])

    def raw(self):
        return self.tag("raw").replace("+%}", "%}") + self.random.choice(["{{ x }}", " {% if %} ", "\n a \n"]) + self.tag("endraw")

    def new_name(self):
        if self.chance(0.3):
            return self.random.choice(["n", "s", "xs", "message"])
        self.fresh += 1
        return f"v{self.fresh % 6}"

    def scoped(self, content):
        """The output of content(), with the names restored afterwards."""
        names, spaces, macros = list(self.names), list(self.spaces), list(self.macros)
        out = content()
        self.names, self.spaces, self.macros = names, spaces, macros
        return out

    def assign(self):
        if self.spaces and self.chance(0.4):
            return self.tag(f"set {self.random.choice(self.spaces)}.x = {self.expression()}")
        value, name = self.expression(), self.new_name()
        self.names.append(name)
        if self.chance(0.15):
            other = self.new_name()
            self.names.append(other)
            return self.tag(f"set {name}, {other} = {self.random.choice([value + ', 1', 'pairs[0]', '(1, 2)', value])}")
        return self.tag(f"set {name} = {value}")

    def make_namespace(self):
        self.fresh += 1
        name = f"ns{self.fresh % 3}"
        self.spaces.append(name)
        self.names.append(f"{name}.x")
        return self.tag(f"set {name} = namespace(x={self.expression()})")

    def assign_block(self, depth):
        name = self.new_name()
        through = self.random.choice(["", "", " | upper", " | trim | length"])
        out = self.tag(f"set {name}{through}") + self.scoped(lambda: self.body(depth + 1)) + self.tag("endset")
        self.names.append(name)
        return out

    def branch(self, depth):
        out = self.tag(f"if {self.expression()}") + self.body(depth + 1)
        for _ in range(self.random.choice([0, 0, 1])):
            out += self.tag(f"elif {self.expression()}") + self.body(depth + 1)
        if self.chance(0.5):
            out += self.tag("else") + self.body(depth + 1)
        return out + self.tag("endif")

    def loop(self, depth):
        def make():
            source, names = self.random.choice([
                ("xs", ["x"]), ("people", ["x"]), ("pairs", ["x", "y"]), ("d.items()", ["x", "y"]), ("d", ["x"]), ("u", ["x"]),
                ("range(4)", ["x"]), ("names|unique", ["x"]), ("d|dictsort", ["x", "y"]), ("empty", ["x"]), ("undefined_name", ["x"]),
                (self.expression(1, 'list'), ["x"]), ("people|selectattr('age')", ["x"]), ("xs, s", ["x"]), ("xs[::-1]", ["x"]),
                (self.expression(1, 'list'), ["x", "y"])])
            only = f" if {self.expression(2)}" if self.chance(0.25) else ""
            self.names += names + names
            if only and self.chance(0.5):
                only = f" if {self.random.choice(['x', 'x is defined', 'x != 1', 'not x'])}"
            head = self.tag(f"for {', '.join(names)} in {source}{only}")
            self.names += [f"loop.{a}" for a in ("index", "index0", "first", "last", "length", "revindex", "revindex0", "depth")]
            self.names += ["loop.previtem", "loop.nextitem", "loop.cycle('o', 'e')"]
            self.loops += 1
            content = self.body(depth + 1)
            self.loops -= 1
            return head + content
        out = self.scoped(make)
        if self.chance(0.3):
            out += self.tag("else") + self.scoped(lambda: self.body(depth + 1))
        return out + self.tag("endfor")

    def macro(self, depth):
        self.fresh += 1
        name, parameters = f"m{self.fresh % 4}", self.random.randrange(3)
        defaults = self.random.randrange(parameters + 1)
        heads = [f"p{i}" if i < defaults else f"p{i}={self.literal()}" for i in range(parameters)]

        def content():
            self.names = [n for n in self.names if not n.startswith("loop")] + [f"p{i}" for i in range(parameters)] * 2
            self.macros = []  # no infinite recursion
            loops, self.loops = self.loops, 0
            out = self.body(depth + 1)
            self.loops = loops
            return out
        out = self.tag(f"macro {name}({', '.join(heads)})") + self.scoped(content) + self.tag("endmacro")
        self.macros.append((name, parameters))
        return out

    def inner(self, depth):
        def generation():
            loops, self.loops = self.loops, 0
            out = self.tag("generation") + self.body(depth + 1) + self.tag("endgeneration")
            self.loops = loops
            return out

        def with_names():
            head = self.tag(f"with w = {self.expression()}, v1 = {self.expression()}")
            self.names += ["w", "v1"]
            return head + self.body(depth + 1) + self.tag("endwith")
        return self.scoped(self.random.choice([generation, with_names]))

    def jump(self):
        return self.tag(f"if {self.expression(2)}") + self.tag(self.random.choice(["break", "continue"])) + self.tag("endif")

    def statement(self, depth):
        if depth > 3:
            return self.pick(self.data, self.print, self.print)
        simple = [self.data, self.print, self.print, self.print, self.assign, self.assign, self.comment, self.raw, self.make_namespace]
        nesting = [lambda: self.branch(depth), lambda: self.loop(depth), lambda: self.loop(depth), lambda: self.assign_block(depth),
                   lambda: self.macro(depth), lambda: self.inner(depth)]
        if self.loops:
            simple.append(self.jump)
        return self.random.choice(simple if self.chance(0.7) else nesting)()

    def body(self, depth=0):
        count = self.random.randrange(1, 6 if depth == 0 else 4)
        return "".join(self.space() + self.statement(depth) + self.space() for _ in range(count))


def make(random):
    """A template. Half of them are one expression, which is the most informative failure."""
    maker = Maker(random)
    if random.random() < 0.5:
        return "{{ " + maker.expression() + " }}"
    # jinja2 hides a variable of the request from loops and macros before the first {% set %} of its name, unless it
    # was read outside of them before
    return "{% if no %}{{ n ~ s ~ xs }}{% endif %}" + maker.body()
