"""Rows of a bench in Python: the same command line, table and JSON as the bench binaries.

    peers.py [NAME...] [--json FILE] [--list] [--smoke]

A row's body returns a Figure, or raises Skip where the machine lacks something. Exit codes: 0 all
rows ran, 1 a row failed, 2 wrong use, 3 cannot write FILE.
"""

import argparse
import dataclasses
import json
import statistics
import sys
import traceback
from typing import Callable


class Skip(Exception):
    """What the row needs is not on this machine."""


@dataclasses.dataclass
class Figure:
    value: float
    spread: float = 0.0


@dataclasses.dataclass
class Row:
    name: str
    what: str
    unit: str
    body: Callable[[bool], Figure]


def figure_of(samples):
    """The median, and the distance between the quartiles as a share of it."""
    middle = statistics.median(samples)
    if len(samples) < 4 or middle == 0:
        return Figure(middle)
    low, _, high = statistics.quantiles(samples, n=4)
    return Figure(middle, (high - low) / middle)


def run_row(row, smoke):
    """The row as the bench binaries write it; exactly one of ours, skipped, failed is set."""
    result = {"name": row.name, "ours_is": row.what, "baseline_is": "", "unit": row.unit,
              "ours": None, "baseline": None, "ratio": None, "difference": None, "spread": None,
              "goal": "", "met": None, "skipped": None, "failed": None}
    try:
        figure = row.body(smoke)
        result["ours"] = figure.value
        result["spread"] = figure.spread
    except Skip as reason:
        result["skipped"] = str(reason)
    except Exception as error:  # one broken row must not cost the others
        traceback.print_exc()
        result["failed"] = f"{type(error).__name__}: {error}"
    return result


def table_line(result):
    if result["skipped"]:
        return f"{result['name']:<44} {'-':>12}     skipped  {result['skipped']}"
    if result["failed"]:
        return f"{result['name']:<44} {'-':>12}     FAILED   {result['failed']}"
    value = f"{result['ours']:.2f}"
    return f"{result['name']:<44} {value:>12} {result['unit']:<3}          {result['ours_is']}"


def as_json(results):
    """One row on each line, so that shell scripts can join several files."""
    lines = ",\n".join(json.dumps(result, separators=(",", ":")) for result in results)
    return '{"rows":[\n' + lines + "\n]}\n"


def main(rows, arguments):
    parser = argparse.ArgumentParser(description="Runs rows and prints what came out.")
    parser.add_argument("names", nargs="*", metavar="NAME", help="only rows whose name has it")
    parser.add_argument("--json", metavar="FILE", help="write the rows there, too")
    parser.add_argument("--list", action="store_true", help="print the names of the rows and stop")
    parser.add_argument("--smoke", action="store_true", help="run every row once or twice")
    options = parser.parse_args(arguments)
    wanted = [row for row in rows
              if not options.names or any(name in row.name for name in options.names)]
    if options.list:
        print("\n".join(row.name for row in wanted))
        return 0
    results = []
    for row in wanted:
        print("measuring", row.name, file=sys.stderr, flush=True)
        results.append(run_row(row, options.smoke))
    for result in results:
        print(table_line(result))
    if options.json:
        try:
            with open(options.json, "w", encoding="utf-8") as file:
                file.write(as_json(results))
        except OSError as error:
            print(f"cannot write the rows: {error}", file=sys.stderr)
            return 3
    return 1 if any(result["failed"] for result in results) else 0
