"""A side of a comparison: one server, or several together, started and measured in each repetition."""
import collections
import statistics

import wrk
from server import Failed, Servers

CONNECTIONS, RATE = 32, 50  # at full load; requests/s at low load


class Side:
    """Derived classes have commands(), environment(), and run(up, options), which checks and measures."""

    def __init__(self, name, version):
        self.name, self.version = name, version
        self.figures = collections.defaultdict(list)

    def measure(self, options, logs):
        with Servers(self.commands(logs), self.environment(options), logs / f"{self.name}.log") as up:
            try:
                self.run(up, options)
            except (Failed, OSError) as e:
                raise Failed(f"{e}\n{up.last_words()}") from e

    def load(self, what, up, url, bodies, seconds, rate=None):
        """Keeps the figures of a load; `what` is None while caches warm up."""
        before = up.cpu_seconds()
        seen = wrk.load(url, bodies, seconds, RATE if rate else CONNECTIONS, rate)
        cpu = up.cpu_seconds() - before
        if seen["errors"] or not seen["requests"]:
            raise Failed(f"{seen['errors']} errors in {seen['requests']} requests to {url}")
        if what:
            self.keep(f"{what} rate", seen["requests"] / seen["seconds"])
            self.keep(f"{what} p50", seen["p50_ms"])
            self.keep(f"{what} p99", seen["p99_ms"])
            self.keep(f"{what} cpu", cpu / seen["requests"] * 1e3)

    def keep(self, name, value):
        self.figures[name].append(value)

    def cells(self, pattern):
        """The medians in a pattern such as "{mlp rate:,.0f}|{mlp p50:.1f} ms", as a row of a table."""
        medians = {name: statistics.median(values) for name, values in self.figures.items()}
        return [self.name, *(cell.format_map(medians) for cell in pattern.split("|"))]
