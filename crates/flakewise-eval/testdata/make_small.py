"""Makes small.jsonl and small_cut.jsonl: tests that nobody wrote, of projects
that do not exist, and what would surround them.

    python make_small.py

Whether a test is flaky depends on what it does, on its class and on chance, in
that order, so that models of source find something under every protocol and
nothing is found perfectly.
"""

import json
import pathlib
import random

DRAW = random.Random(20261115)
# Surroundings have draws of their own, so that the tests stay as they are.
AROUND = random.Random(20261116)
PROJECTS = ["anvil", "bramble", "cinder", "drift", "ember", "fathom"]
NOUNS = ["Cart", "Ledger", "Parser", "Router", "Cache", "Queue", "Session", "Index", "Codec", "Clock"]
VERBS = ["adds", "drops", "renders", "merges", "splits", "counts", "opens", "closes", "sorts", "sends"]
QUIET = [
    "assertEquals({n}, {v}.size());",
    "assertTrue({v}.contains(\"{w}\"));",
    "{v}.put(\"{w}\", {n});",
    "{T} copy = new {T}({v});",
    "assertNotNull({v}.find(\"{w}\"));",
    "for (int i = 0; i < {n}; i++) {{ {v}.add(i); }}",
    "String text = {v}.toString();",
]
RISKY = [
    "Thread.sleep({n}00);",
    "latch.await({n}, TimeUnit.SECONDS);",
    "long start = System.currentTimeMillis();",
    "ServerSocket socket = new ServerSocket({n}080);",
    "executor.submit(() -> {v}.run());",
    "assertEquals(expected, new HashSet<>({v}.keys()).iterator().next());",
]


def statement(shapes, noun):
    word = DRAW.choice(["alpha", "beta", "gamma", "delta", "omega"])
    return DRAW.choice(shapes).format(n=DRAW.randint(1, 9), v=noun.lower(), T=noun, w=word)


def surroundings(identity, lively, noun):
    """The code around a test: lively classes mostly stand on a server."""
    server = AROUND.random() < (0.8 if lively else 0.1)
    return {
        "id": identity, "found": 2, "m": [f"{noun}.open/0:{AROUND.randint(2, 9)}"], "n": [AROUND.randint(1, 5), 1, 0, 0],
        "l": [AROUND.randint(5, 30), AROUND.randint(0, 9)], "c": [1, 1],
        "f1": {"net": 1} if server else {}, "f2": {"sleep": 1} if server else {},
        "md": {"net": 1, "sleep": 2} if server else {}, "calls": [AROUND.randint(2, 8), 2, 1, 1, 0, 0, 0],
        "tree": [1, 1, 1, AROUND.randint(2, 6), AROUND.randint(10, 90), 0],
        "base": ["ServerTestBase" if server else "PlainTestBase"], "ft": {"thread": 1} if server else {}, "fb": {},
        "w": {noun.lower(): 3}, "wt": {"server": 2, "port": 1} if server else {"value": 1},
    }


def main():
    rows, around = [], []
    for project in PROJECTS:
        for noun in NOUNS[: DRAW.randint(6, 10)]:
            lively = DRAW.random() < 0.3
            name = f"org.{project}.{noun.lower()}.{noun}Test"
            field = "ExecutorService executor = newPool();" if lively else f"{noun} {noun.lower()} = new {noun}();"
            for number, verb in enumerate(DRAW.sample(VERBS, DRAW.randint(5, 9))):
                risky = DRAW.random() < (0.6 if lively else 0.06)
                flaky = DRAW.random() < (0.75 if risky else 0.02)
                method = f"{verb}{noun}{number}"
                lines = [statement(QUIET, noun) for _ in range(DRAW.randint(2, 6))]
                if risky:
                    lines.insert(DRAW.randint(0, len(lines)), statement(RISKY, noun))
                body = f"@Test public void {method}() throws Exception {{\n  " + "\n  ".join(lines) + "\n}\n"
                simple = name.rsplit(".", 1)[1]
                package = name.rsplit(".", 1)[0]
                failed = DRAW.randint(1, 300) if flaky else 0
                identity = f"{project}/{name}#{method}"
                around.append(surroundings(identity, lively, noun))
                published = AROUND.random() < (0.6 if flaky else 0.1)
                outcome = ("TP" if flaky else "FP") if published else ("FN" if flaky else "TN")
                rows.append({
                    "id": identity, "project": project, "class": name, "method": method,
                    "source": body,
                    "class_source": f"package {package};\nimport org.junit.Test;\nclass {simple} {{\n{field}\n{body}}}\n",
                    "label": int(flaky), "failing_runs": failed, "passing_runs": 1000 - failed,
                    "in_peeler_subset": project != "anvil", "peeler_outcome": outcome, "flakeflagger_outcome": outcome,
                })
    for name, lines in (("small.jsonl", rows), ("small_cut.jsonl", around)):
        lines = sorted(lines, key=lambda line: line["id"])
        text = "".join(json.dumps(line) + "\n" for line in lines)
        pathlib.Path(__file__).with_name(name).write_text(text)


if __name__ == "__main__":
    main()
