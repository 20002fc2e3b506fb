"""Arguments of tests that run for minutes under faults drawn from a seed."""
import argparse

import processes


def parser(about, *, minutes, seed, clients, pause):
    """A parser with these defaults, to which a test may add."""
    p = argparse.ArgumentParser(description=about)
    p.add_argument("program", nargs="?", default=processes.PROGRAM)
    p.add_argument("--minutes", type=float, default=minutes)
    p.add_argument("--seed", type=int, default=seed)
    p.add_argument("--clients", type=int, default=clients)
    p.add_argument("--pause", type=float, default=pause, help="seconds between the requests of a client, on average")
    return p


def read(p):
    """The options of the command line; the program becomes that of all processes."""
    options = p.parse_args()
    processes.PROGRAM = options.program
    return options
