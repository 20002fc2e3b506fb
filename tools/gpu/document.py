#!/usr/bin/env python3
"""Writes the figures of a report into the column "measured" of docs/gpu.md: document.py report.json [docs/gpu.md]

A table with the columns op, shape and measured gets the microseconds of the row of that op and shape. The line behind it
that begins with "Measured:" says where and when; it is replaced."""
import json
import sys
from pathlib import Path

DOCUMENT = Path(__file__).resolve().parents[2] / "docs" / "gpu.md"


def time_text(us):
    return f"{us / 1000:.2f} ms" if us >= 1000 else f"{us:.3g} µs"


def cells(line):
    return [c.strip() for c in line.strip().strip("|").split("|")]


def with_figures(text, figures):
    """The text with the figures {(op, shape): µs} in its tables, and their number."""
    lines, columns, written = [], None, 0
    for line in text.split("\n"):
        if not line.startswith("|"):
            columns = None
        elif columns is None:
            columns = cells(line)
        elif {"op", "shape", "measured"} <= set(columns) and not line.startswith("|---"):
            row = cells(line)
            us = figures.get((row[columns.index("op")].strip("`"), row[columns.index("shape")].strip("`")))
            if us is not None:
                row[columns.index("measured")] = time_text(us)
                line = "| " + " | ".join(row) + " |"
                written += 1
        lines.append(line)
    return "\n".join(lines), written


def main(report, document=DOCUMENT):
    with open(report) as file:
        d = json.load(file)
    if d["dry"]:
        sys.exit(f"document: {report} is of the emulated machine, which measures nothing")
    figures = {(f["op"], f["shape"]): f["us"] for r in d["checks"] for f in r.get("figures", [])}
    text, written = with_figures(Path(document).read_text(), figures)
    gpu = d["machine"]["gpus"][0]
    where = f"Measured: {gpu['name']}, driver {gpu['driver']}, Troupe {d['version']}, {d['written'][:10]}."
    lines = [where if line.startswith("Measured: ") else line for line in text.split("\n")]
    Path(document).write_text("\n".join(lines))
    print(f"{document}: {written} figures of {len(figures)} have a row")


if __name__ == "__main__":
    main(*sys.argv[1:])
