// One test for each thing that Vitest's JUnit report can express.
import { afterEach, beforeAll, beforeEach, describe, expect, it, test } from "vitest";

test("passes", () => {
  // Nothing to see: the plain green case, with no output.
  expect(2 + 2).toBe(4);
});

test("fails with an awkward message", () => {
  // Everything an XML writer must escape, over more than one line.
  console.log("to stdout: \x1b[31mred\x1b[0m <tag> & \"quotes\" café 日本語");
  console.log("a control char: [\x01] and ]]> the end of a CDATA section");
  console.error("to stderr: \x1b[1;33mwarning\x1b[0m");
  throw new Error(
    "expected <total> & \"tax\" to be 'équal': 3 ≠ 4\n" +
      "second line: \x1b[32mnaïve\x1b[0m café 日本語 🦀\n" +
      "\tthird line with a control char [\x01]",
  );
});

test("fails to compare", () => {
  // What expect() itself says, with a difference over several lines.
  expect({ a: "one & two", b: 1 }).toEqual({ a: "one < two", b: 1 });
});

test("throws something that is no error", () => {
  // A string is thrown, so that there is no type and no stack.
  throw "just a string";
});

test.skip("skipped", () => {
  // Skipped where it is declared; there is no reason to give.
  throw new Error("must not run");
});

test("skipped while running", (context) => {
  // Skipped from inside the body, with a reason.
  context.skip("not on <this> platform & \"never\" — é");
});

test.todo("still to be written");

test.fails("is expected to fail", () => {
  // Fails as foretold, which is a pass.
  expect(1).toBe(2);
});

test("fails two soft expectations", () => {
  // Two failures of one test.
  expect.soft(1).toBe(2);
  expect.soft("a").toBe("b");
});

test.each(["plain", "two words", "a::b[0]", "x > y", "ünï→日本", "<&>\"'", ""])("parametrised [%s]", (text) => {
  // One case of several fails; the texts are awkward for anyone who splits
  // names at '::', '[' or ' > '.
  expect(text).not.toBe("a::b[0]");
});

describe("outer", () => {
  it("passes in a describe", () => {
    // One level down.
  });

  describe("inner > deeper", () => {
    it("fails in a nested describe", () => {
      // Two levels down, failing; the describe's name holds the separator.
      expect("left").toBe("right");
    });
  });
});

describe("broken beforeAll", () => {
  beforeAll(() => {
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

  it("fails, then the tear-down breaks", () => {
    // The body fails, and then the tear-down throws too.
    throw new Error("the body failed");
  });
});

test("same name", () => {
  // Two tests may have one name: this one passes ...
});

test("same name", () => {
  // ... and this one fails.
  expect(1).toBe(2);
});

test("writes output", () => {
  // A green test which writes to both streams.
  console.log("hello from stdout");
  console.error("hello from stderr");
});

test("flaky by round", () => {
  // Fails in round 1 only, so that two runs of one commit differ.
  expect(process.env.FLAKEWISE_ROUND, "failed in round 1").not.toBe("1");
});
