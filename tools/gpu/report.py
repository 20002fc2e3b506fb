"""The report of a run: report.json for scripts, report.md for people."""
import collections
import json
import os
import time

STATES = ("passed", "failed", "timed out", "left out", "not run")


class Report:
    """Written after each check, so that a run that is cut off leaves what it found. `results` maps section/name to
    {section, name, state, seconds, limit_s, why, failure, log, figures, command}."""

    def __init__(self, folder, facts):
        self.folder, self.facts, self.results = folder, facts, {}

    def resume(self):
        """Takes over the results of an earlier run in the same folder. Raises ValueError if it was of other programs or
        on another machine."""
        path = os.path.join(self.folder, "report.json")
        if not os.path.exists(path):
            return
        with open(path) as file:
            before = json.load(file)
        for what, old, new in (("version", before["version"], self.facts["version"]),
                               ("dry", before["dry"], self.facts["dry"]),
                               ("GPUs", before["machine"]["gpus"], self.facts["machine"]["gpus"])):
            if old != new:
                raise ValueError(f"{path} is of another run: {what} {old}, now {new}; choose another --out")
        self.results = {key(r): r for r in before["checks"]}

    def passed(self, check):
        return self.results.get(f"{check.section}/{check.name}", {}).get("state") == "passed"

    def add(self, check, **result):
        self.results[f"{check.section}/{check.name}"] = {
            "section": check.section, "name": check.name, "limit_s": check.limit_s, **result}
        self.write()

    def counts(self):
        states = collections.Counter(r["state"] for r in self.results.values())
        return {state: states[state] for state in STATES}

    def write(self):
        document = {"written": time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime()), **self.facts, "counts": self.counts(),
                    "checks": list(self.results.values())}
        for name, text in (("report.json", json.dumps(document, indent=1) + "\n"), ("report.md", markdown(document))):
            path = os.path.join(self.folder, name)
            with open(path + ".new", "w") as file:
                file.write(text)
            os.replace(path + ".new", path)


def key(result):
    return f"{result['section']}/{result['name']}"


def code(text):
    return f"`{text}`" if "\n" not in text else f"\n\n```\n{text}\n```\n"


def failure_text(result):
    failure = result.get("failure") or {}
    lines = [f"### {key(result)}: {result['state']}", "", result.get("why", "")]
    if failure.get("test"):
        lines.append(f"- test: {code(failure['test'])}")
    if failure.get("what"):
        lines.append(f"- what: {code(failure['what'])}")
    if "element" in failure:
        lines.append(f"- first wrong element: {failure['element']}, expected {failure['expected']}, found {failure['found']}"
                     f" ({failure['count']} wrong)")
    elif failure.get("values"):
        lines.append(f"- values: {code(failure['values'])}")
    lines += [f"- logged: {code(line)}" for line in failure.get("logged", [])]
    return lines + [f"- log: {result['log']}", f"- command: {code(result['command'])}", ""]


def figure_row(f):
    share = f"{100 * f['share']:.0f} %" if "share" in f else f"{f['ratio']:.2f} ×" if "ratio" in f else ""
    target = ""
    if "target_us" in f:
        target = f"{f['target_us']:.1f} " + ("met" if f["us"] <= f["target_us"] else "**missed**")
    return f"| {f['op']} | {f['shape']} | {f['us']:.2f} | {share} | {target} |"


def markdown(d):
    lines = ["# GPU check", "", f"Troupe {d['version']}, {d['written']}"
             + (", **against the emulated machine**: no result comes from a GPU" if d["dry"] else ""), "",
             ", ".join(f"{n} {state}" for state, n in d["counts"].items()), ""]
    machine = d["machine"]
    lines += ["| machine | |", "|---|---|"]
    lines += [f"| GPU {i} | {g['name']}, compute capability {g['capability']}, {g['memory_mib']} MiB, driver {g['driver']} |"
              for i, g in enumerate(machine["gpus"])] or ["| GPU | none |"]
    lines += [f"| {name} | {found['version']}, {found['path']} |" for name, found in machine["libraries"].items()]
    lines += [f"| compute-sanitizer | {machine['compute_sanitizer'] or 'none'} |",
              f"| kernel, CPUs | {machine['kernel']}, {machine['cpus']} |", ""]
    lines += [f"- {remark}" for remark in machine["remarks"]] + [""]
    failed = [r for r in d["checks"] if r["state"] in ("failed", "timed out")]
    if failed:
        lines += ["## Failed", ""]
        for r in failed:
            lines += failure_text(r)
    lines += ["## Checks", "", "| check | state | seconds | |", "|---|---|---|---|"]
    lines += [f"| {key(r)} | {r['state']} | {r.get('seconds', 0):.1f} | {r.get('why', '')} |" for r in d["checks"]] + [""]
    figures = [f for r in d["checks"] for f in r.get("figures", [])]
    if figures:
        lines += ["## Figures", "", "| what | shape | µs | of the limit, or × alone | target µs |", "|---|---|---|---|---|"]
        lines += [figure_row(f) for f in figures] + [""]
    return "\n".join(lines)
