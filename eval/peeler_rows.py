#!/usr/bin/env python3
"""Lists the tests that are alone in their row of PEELER's benchmark.

    eval/peeler_rows.py FlakeFlagger_benchmark.csv flakeflagger.jsonl.gz > eval/peeler_rows_of_one.txt

A row of that benchmark (`benchmark/FlakeFlagger_benchmark.csv` of PEELER's public
repository, Apache-2.0) has consecutive tests of one class with one label, and
PEELER's extractor gives all of them the same features. Where only one test of a
row is in the subset PEELER was measured on, no label can have leaked.
"""

import collections
import csv
import gzip
import json
import sys

# The benchmark spells one project differently from the data set.
NAMES = {"handlebars.java": "handlebars"}


def main():
    benchmark, data = sys.argv[1:]
    rows = collections.defaultdict(set)
    projects = set()
    with open(benchmark, newline="") as file:
        for number, row in enumerate(csv.DictReader(file)):
            project = NAMES.get(row["Project"], row["Project"]).lower()
            projects.add(project)
            for method in row["Method Names"].split("."):
                rows[project, row["Test File Path"], method, int(row["Label"])].add(number)
    of_test = {}
    with gzip.open(data, "rt") as file:
        for test in map(json.loads, file):
            path = test["file_path"]
            if not test["in_peeler_subset"] or not isinstance(path, str):
                continue
            found = set()
            for project in projects:
                if test["project"].lower().endswith(project):
                    for method in {test["method"], test["method"].split("[")[0]}:
                        found |= rows[project, path, method, test["label"]]
            if found:
                of_test[test["id"]] = min(found)
    sizes = collections.Counter(of_test.values())
    alone = sorted(test for test, row in of_test.items() if sizes[row] == 1)
    print(f"# {len(alone)} tests that are alone in their row of PEELER's benchmark; made by eval/peeler_rows.py")
    print("\n".join(alone))


if __name__ == "__main__":
    main()
