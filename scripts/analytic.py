#!/usr/bin/env python3
"""Analytic queries over four million rows, on Cohort and on PostgreSQL.

    scripts/analytic.py load URL...                fills each server with the same rows
    scripts/analytic.py run COHORT_URL POSTGRES_URL [QUERY...]

`run` takes each query of scripts/analytic three times on each server by turns, compares the results, and prints how
many times faster than PostgreSQL Cohort is (by the best time of each) and the geometric mean of that. PostgreSQL is
meant to have shared_buffers = 2GB and defaults otherwise. Needs psql.
"""

import math
import pathlib
import re
import subprocess
import sys

FOLDER = pathlib.Path(__file__).parent / "analytic"
RUNS = 3


def psql(url, text):
    """What psql prints for `text`; the program ends if it fails."""
    command = ["psql", "-X", "-q", "-A", "-t", "-v", "ON_ERROR_STOP=1", "-d", url, "-f", "-"]
    done = subprocess.run(command, input=text, capture_output=True, text=True)
    if done.returncode != 0:
        sys.exit(f"{url}: {done.stderr}")
    return done.stdout


def rows_alike(left, right):
    """Whether results are equal; sums of floats depend on the order of their summands in the last digits."""
    left, right = left.splitlines(), right.splitlines()
    return len(left) == len(right) and all(map(fields_alike, left, right))


def fields_alike(left, right):
    left, right = left.split("|"), right.split("|")
    return len(left) == len(right) and all(a == b or numbers_alike(a, b) for a, b in zip(left, right))


def numbers_alike(left, right):
    try:
        return math.isclose(float(left), float(right), rel_tol=1e-9)
    except ValueError:
        return False


def run_once(url, query):
    """The result and the milliseconds psql measured."""
    out = psql(url, f"\\timing on\n{query}")
    result, milliseconds = re.fullmatch(r"(.*?)Time: ([0-9.]+) ms[^\n]*\n", out, re.DOTALL).groups()
    return result, float(milliseconds)


def run(cohort, postgres, names):
    ratios = []
    has_difference = False
    print(f"{'query':28}{'Cohort ms':>12}{'PostgreSQL ms':>15}{'times faster':>14}")
    for path in sorted(FOLDER.glob("[0-9]*.sql")):
        if names and not any(path.stem.startswith(name) for name in names):
            continue
        query = path.read_text()
        times = {cohort: [], postgres: []}
        results = {}
        for _ in range(RUNS):
            for url in (cohort, postgres):
                results[url], milliseconds = run_once(url, query)
                times[url].append(milliseconds)
        ours, theirs = min(times[cohort]), min(times[postgres])
        ratios.append(theirs / ours)
        alike = rows_alike(results[cohort], results[postgres])
        has_difference |= not alike
        note = "" if alike else "  RESULTS DIFFER"
        print(f"{path.stem:28}{ours:12.0f}{theirs:15.0f}{theirs / ours:14.2f}{note}", flush=True)
    mean = math.exp(sum(map(math.log, ratios)) / len(ratios))
    print(f"{'geometric mean':28}{'':27}{mean:14.2f}\n{'lowest':28}{'':27}{min(ratios):14.2f}")
    return 1 if has_difference else 0


def main():
    match sys.argv[1:]:
        case ["load", *urls] if urls:
            for url in urls:
                psql(url, (FOLDER / "load.sql").read_text())
        case ["run", cohort, postgres, *names]:
            sys.exit(run(cohort, postgres, names))
        case _:
            sys.exit(__doc__)


main()
