// One test for each thing that Node's own JUnit reporter can express.
import assert from "node:assert/strict";
import { after, afterEach, before, beforeEach, describe, it, test } from "node:test";

test("passes", () => {
  // Nothing to see: the plain green case, with no output.
  assert.equal(2 + 2, 4);
});

test("fails with an awkward message", () => {
  // Everything an XML writer must escape, over more than one line.
  console.log("to stdout: \x1b[31mred\x1b[0m <tag> & \"quotes\" café 日本語");
  console.log("a control char: [\x01] and ]]> the end of a CDATA section");
  console.error("to stderr: \x1b[1;33mwarning\x1b[0m");
  assert.fail(
    "expected <total> & \"tax\" to be 'équal': 3 ≠ 4\n" +
      "second line: \x1b[32mnaïve\x1b[0m café 日本語 🦀\n" +
      "\tthird line with a control char [\x01]",
  );
});

test("fails to compare", () => {
  // What assert itself says, with a difference over several lines.
  assert.deepEqual({ a: "one & two", b: 1 }, { a: "one < two", b: 1 });
});

test("throws", () => {
  // An exception that is no assertion.
  throw new TypeError("no such order: <42>");
});

test("skipped", { skip: "not on <this> platform & \"never\" — é" }, () => {
  // Skipped where it is declared, with a reason.
  throw new Error("must not run");
});

test("skipped while running", (context) => {
  // Skipped from inside the body.
  context.skip("decided at run time");
});

test("still to be written", { todo: "some day" });

test("fails, but is a todo", { todo: true }, () => {
  // Fails, which Node forgives in a todo.
  assert.equal(1, 2);
});

for (const text of ["plain", "two words", "a::b[0]", "x > y", "ünï→日本", "<&>\"'", ""]) {
  test(`parametrised [${text}]`, () => {
    // One case of several fails; the texts are awkward for anyone who splits
    // names at '::' or '['.
    assert.notEqual(text, "a::b[0]");
  });
}

test("has subtests", async (context) => {
  // Tests within a test; the second one fails.
  await context.test("first", () => {});
  await context.test("second :: [2]", () => {
    assert.equal(1, 2);
  });
});

describe("outer", () => {
  it("passes in a describe", () => {
    // One level down.
  });

  describe("inner", () => {
    it("fails in a nested describe", () => {
      // Two levels down, failing.
      assert.equal("left", "right");
    });
  });
});

describe("broken before", () => {
  before(() => {
    throw new Error("set-up broke: cannot reach <db> & co");
  });

  it("never runs", () => {
    // Never runs: see the set-up.
  });
});

describe("broken beforeEach", () => {
  beforeEach(() => {
    throw new Error("set-up broke");
  });

  it("never runs either", () => {
    // Never runs: see the set-up.
  });
});

describe("broken afterEach", () => {
  afterEach(() => {
    throw new Error("tear-down broke");
  });

  it("passes, then the tear-down breaks", () => {
    // The body passes.
  });
});

describe("broken after", () => {
  after(() => {
    throw new Error("the last tear-down broke");
  });

  it("passes before that", () => {
    // Has passed when its suite fails.
  });
});

test("writes output", (context) => {
  // A green test which writes to both streams, and a diagnostic.
  console.log("hello from stdout");
  console.error("hello from stderr");
  context.diagnostic("hello from a diagnostic");
});

test("flaky by round", () => {
  // Fails in round 1 only, so that two runs of one commit differ.
  assert.notEqual(process.env.FLAKEWISE_ROUND, "1", "failed in round 1");
});
