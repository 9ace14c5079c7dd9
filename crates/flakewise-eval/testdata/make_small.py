"""Makes small.jsonl: tests that nobody wrote, of projects that do not exist.

    python make_small.py > small.jsonl

Whether a test is flaky depends on what it does, on its class and on chance, in
that order, so that models of source find something under every protocol and
nothing is found perfectly.
"""

import json
import random

DRAW = random.Random(20261115)
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


def main():
    rows = []
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
                rows.append({
                    "id": f"{project}/{name}#{method}", "project": project, "class": name, "method": method,
                    "source": body,
                    "class_source": f"package {package};\nimport org.junit.Test;\nclass {simple} {{\n{field}\n{body}}}\n",
                    "label": int(flaky), "failing_runs": failed, "passing_runs": 1000 - failed,
                })
    for row in sorted(rows, key=lambda row: row["id"]):
        print(json.dumps(row))


if __name__ == "__main__":
    main()
