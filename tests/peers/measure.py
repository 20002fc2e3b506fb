#!/usr/bin/env python3
"""Measures Troupe beside the programs that users would choose instead, in turns on this machine.

    tests/peers/measure.py build/release/troupe
    tests/peers/measure.py build/release/troupe --peers mlserver litserve --repetitions 3 --seconds 1

Peers are installed from PyPI into build/peers. The Markdown tables have the medians of all repetitions. A peer that
cannot be installed, does not start or answers wrong is named below its tables, and the others go on. README.md has the
details.
"""
import argparse
import sys
import tempfile
import time
from pathlib import Path

import language_models
import routers
import server
import tensor_servers
from environments import HERE, NotInstalled
from server import Failed

COMPARISONS = (tensor_servers, language_models, routers)
NAMES = [*(peer.key for peer in tensor_servers.PEERS), "transformers", *routers.PEERS]


def installed(makers):
    """(sides, problems)"""
    sides, problems = [], []
    for name, make in makers:
        try:
            sides.append(make())
        except NotInstalled as e:
            problems.append(f"{name} cannot be installed: {e}")
    return sides, problems


def take_turns(sides, problems, options):
    """Sides that fail leave."""
    with tempfile.TemporaryDirectory() as folder:
        for repetition in range(options.repetitions):
            for side in list(sides):
                began = time.monotonic()
                try:
                    side.measure(options, Path(folder))
                except Failed as e:
                    problems.append(f"{side.name} {side.version} {e}")
                    sides.remove(side)
                seconds = time.monotonic() - began
                print(f"{side.name}, repetition {repetition + 1}: {seconds:.0f} s", file=sys.stderr, flush=True)


def print_table(titles, rows):
    print()
    for cells in [titles, ["---"] * len(titles), *rows]:
        print("| " + " | ".join(cells) + " |")


def compare(comparison, options):
    """The problems."""
    sides, problems = installed(comparison.makers(options))
    take_turns(sides, problems, options)
    if sides:
        print("\nVersions: " + ", ".join(f"{side.name} {side.version}" for side in sides) + ".")
        for titles, rows in comparison.tables(sides):
            print_table(titles, rows)
    for problem in problems:
        print("\n" + problem)
    sys.stdout.flush()
    return problems


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("program", type=Path)
    parser.add_argument("--peers", nargs="+", default=NAMES, choices=NAMES)
    parser.add_argument("--repetitions", type=int, default=5)
    parser.add_argument("--seconds", type=int, default=2, help="of each full load")
    parser.add_argument("--low-load-seconds", type=int, default=3)
    parser.add_argument("--llm-seconds", type=float, default=0.7, help="of each kind of step of a language model")
    parser.add_argument("--wait-ms", type=float, default=1, help="of the batchers of tensor servers")
    parser.add_argument("--environments", type=Path, default=HERE.parents[1] / "build/peers")
    options = parser.parse_args()
    options.program = options.program.absolute()
    server.adopt_orphans()
    problems = [problem for comparison in COMPARISONS for problem in compare(comparison, options)]
    return 1 if problems else 0


if __name__ == "__main__":
    sys.exit(main())
