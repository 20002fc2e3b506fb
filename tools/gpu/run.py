#!/usr/bin/env python3
"""Checks Troupe on a GPU, and writes report.json and report.md.

    run [--out FOLDER] [--only WHAT]... [--skip WHAT]... [--resume] [--minutes 9] [--list]
    run --dry --build build/dev     the same list against the emulated machine

WHAT is a section, or section/name; it may have wildcards. A check that is not begun, or not finished, because the minutes
are over is "not run": the same command with --resume goes on there. Exit codes: 0 if checks passed and all others were
left out with a reason; 1 if one failed, or all were left out; 3 if none failed and some were not run. Python 3.9 or
later, standard library only."""
import argparse
import fnmatch
import json
import os
import re
import sys
import time
from pathlib import Path

import bundle
import checks
import failures
import processes
from machine import Machine
from report import Report


def options():
    parser = argparse.ArgumentParser(prog="run", description=__doc__.split("\n")[0])
    parser.add_argument("--out", type=Path, default=Path("gpu-report"), help="folder of the reports and logs")
    parser.add_argument("--only", action="append", default=[], metavar="WHAT", help="a section, or section/name")
    parser.add_argument("--skip", action="append", default=[], metavar="WHAT", help="a section, or section/name")
    parser.add_argument("--resume", action="store_true", help="keep the results in --out, and do not repeat what passed")
    parser.add_argument("--minutes", type=float, default=9, help="begin no check later, and end one that is still running")
    parser.add_argument("--list", action="store_true", help="print the checks and their limits")
    parser.add_argument("--dry", action="store_true", help="run against the emulated machine")
    parser.add_argument("--build", type=Path, help="with --dry: the build folder with the programs")
    parser.add_argument("--checks", type=Path, help="a JSON file with other checks, instead of the list")
    o = parser.parse_args()
    if o.dry != (o.build is not None):
        parser.error("--dry and --build belong together")
    return o


def matches(check, patterns):
    return any(fnmatch.fnmatchcase(check.section, p) or fnmatch.fnmatchcase(f"{check.section}/{check.name}", p)
               for p in patterns)


def chosen(all_checks, o):
    for pattern in [*o.only, *o.skip]:
        if not any(matches(c, [pattern]) for c in all_checks):
            sys.exit(f"run: no check is called '{pattern}'; sections: {', '.join(dict.fromkeys(c.section for c in all_checks))}")
    return [c for c in all_checks if (not o.only or matches(c, o.only)) and not matches(c, o.skip)]


def figures_of(output):
    """The rows that a benchmark printed, or nothing."""
    begin, end = output.find("["), output.rfind("]")
    try:
        return json.loads(output[begin:end + 1])
    except ValueError:
        return None


class Run:
    def __init__(self, o):
        self.o, self.files = o, bundle.Files(o.build)
        self.end = time.monotonic() + 60 * o.minutes
        manifest = self.files.manifest()
        self.machine = Machine(manifest["built_with"])
        self.report = Report(o.out, {"version": manifest["version"], "dry": o.dry, "machine": self.machine.document()})
        if o.resume:
            try:
                self.report.resume()
            except ValueError as e:
                sys.exit(f"run: {e}")

    def command(self, check):
        """The words to run, or why there are none."""
        words = check.dry if self.o.dry else check.command
        if self.o.dry and not words:
            return None, check.dry_left_out
        if not self.o.dry and (why := self.machine.why_not(check)):
            return None, why
        places = {"python": sys.executable, "compute-sanitizer": self.machine.sanitizer}
        try:
            return [re.sub(r"\{([\w-]+)\}", lambda m: places.get(m[1]) or str(self.files.path(m[1])), w) for w in words], None
        except FileNotFoundError as e:
            return None, str(e)

    def one(self, check):
        command, why = self.command(check)
        if command is None:
            return self.report.add(check, state="left out", why=why)
        limit = min(check.limit_s, self.end - time.monotonic())
        if limit <= 0:
            return self.report.add(check, state="not run", why=f"the {self.o.minutes:g} minutes were over; see --resume")
        log = self.o.out / (re.sub(r"\W+", "-", f"{check.section}-{check.name}").strip("-") + ".log")
        done = processes.run(command, limit, log, self.files.environment(self.machine), self.files.root)
        result = {"seconds": round(done.seconds, 2), "log": log.name, "command": " ".join(command)}
        if done.code is None and limit < check.limit_s:
            why = f"ended after {done.seconds:.0f} s, as the {self.o.minutes:g} minutes were over; see --resume"
            return self.report.add(check, state="not run", why=why, **result)
        if done.code is None:
            return self.report.add(check, state="timed out", why=f"ended at its limit of {check.limit_s} s",
                                   failure=failures.first_failure(done.output), **result)
        if check.figures and (rows := figures_of(done.output)) is not None:
            result["figures"] = rows
        if done.code != 0:
            why = f"exit code {done.code}" if done.code > 0 else f"ended by signal {-done.code}"
            return self.report.add(check, state="failed", why=why, failure=failures.first_failure(done.output), **result)
        if nothing := failures.ran_nothing(done.output):
            return self.report.add(check, state="failed", why=nothing, **result)
        if check.figures and "figures" not in result:
            return self.report.add(check, state="failed", why="it printed no figures", **result)
        return self.report.add(check, state="passed", **result)

    def all(self, wanted):
        for check in wanted:
            if self.o.resume and self.report.passed(check):
                continue
            self.one(check)
            result = self.report.results[f"{check.section}/{check.name}"]
            print(f"{result['state']:<9} {result.get('seconds', 0):6.1f} s  {check.section}/{check.name}"
                  + (f": {result['why']}" if result.get("why") else ""), flush=True)
        counts = self.report.counts()
        print(", ".join(f"{n} {state}" for state, n in counts.items()) + f"; {self.o.out / 'report.md'}")
        if counts["failed"] or counts["timed out"]:
            return 1
        return 3 if counts["not run"] else 0 if counts["passed"] else 1


def main():
    o = options()
    all_checks = checks.from_document(json.loads(o.checks.read_text())) if o.checks else checks.CHECKS
    wanted = chosen(all_checks, o)
    if o.list:
        for c in wanted:
            print(f"{c.limit_s:4} s  {c.section}/{c.name}")
        return 0
    o.out = o.out.resolve()
    o.out.mkdir(parents=True, exist_ok=True)
    return Run(o).all(wanted)


if __name__ == "__main__":
    sys.exit(main())
