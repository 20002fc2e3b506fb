"""The first failure in the output of a check."""
import re

ELEMENT = re.compile(r"(?P<count>\d+ of \d+) wrong, the first at (?P<element>\d+): expected (?P<expected>\S+), "
                     r"found (?P<found>\S+)")
LAST_LINES = 20


def first_failure(output):
    """{test, what, values, ...}: of doctest's output its first error, with the first wrong element and the shape and
    seed that the test logs; of other programs the first line with a wrong element, or the last lines."""
    return of_doctest(output) or of_lines(output)


def ran_nothing(output):
    """Why a check that ended without a failure is none: a filter that selects no test case, or tests that did not run
    because something is missing."""
    if summary := re.search(r"^\[doctest\] test cases:\s+(\d+)", output, re.MULTILINE):
        if summary[1] == "0":
            return "no test case has that name"
        if skipped := re.findall(r"not run: .*", output):
            return f"a test did not run: {skipped[0]}"
    return None


def of_doctest(output):
    error = re.search(r"^\S+?[:(]\d+\)?: (?:FATAL )?ERROR: (?P<what>.*)$", output, re.MULTILINE)
    if not error:
        return None
    tests = re.findall(r"^TEST CASE:\s+(.*)$", output[:error.start()], re.MULTILINE)
    found = {"test": tests[-1] if tests else "", "what": error["what"].strip()}
    block = re.split(r"^(?:=====|\S+?[:(]\d+\)?: )", output[error.end():], maxsplit=1, flags=re.MULTILINE)[0]
    if values := re.search(r"^\s+values: (.*)$", block, re.MULTILINE):
        found["values"] = values[1].strip()
    if element := ELEMENT.search(block):
        found |= element.groupdict()
    if logged := re.search(r"^\s+logged: (.*(?:\n {10}.*)*)", block, re.MULTILINE):
        found["logged"] = [line.strip() for line in logged[1].splitlines()]
    if not found.keys() & {"values", "logged"}:
        found["values"] = " ".join(block.split())[:500]
    return found


def of_lines(output):
    lines = output.rstrip().splitlines()
    for line in lines:
        if element := ELEMENT.search(line):
            return {"test": line.split(": ")[0], "what": line.strip(), **element.groupdict()}
    return {"test": "", "what": "\n".join(lines[-LAST_LINES:])}
