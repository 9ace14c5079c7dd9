// One test for each thing that Playwright's JUnit report can express. None of
// them opens a page, so that no browser is needed.
const { expect, test } = require("@playwright/test");

test("passes", () => {
  // Nothing to see: the plain green case, with no output.
  expect(2 + 2).toBe(4);
});

test("fails with an awkward message", () => {
  // Everything an XML writer must escape, over more than one line.
  test.info().annotations.push({ type: "issue", description: "ACME-7 <&>" });
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
  // What expect() itself says, with colours and a difference.
  expect({ a: "one & two", b: 1 }).toEqual({ a: "one < two", b: 1 });
});

test("times out", async () => {
  // Takes longer than it may.
  test.setTimeout(200);
  await new Promise((resolve) => setTimeout(resolve, 60_000));
});

test.skip("skipped", () => {
  // Skipped where it is declared; there is no reason to give.
  throw new Error("must not run");
});

test("skipped while running", () => {
  // Skipped from inside the body, with a reason.
  test.skip(true, "not on <this> platform & \"never\" — é");
});

test.fixme("still to be fixed", () => {
  // Another kind of skip.
});

test("is expected to fail", () => {
  // Fails as foretold, which is a pass.
  test.fail();
  expect(1).toBe(2);
});

for (const text of ["plain", "two words", "a::b[0]", "x › y", "ünï→日本", "<&>\"'"]) {
  test(`parametrised [${text}]`, { tag: "@slow" }, () => {
    // One case of several fails; the texts are awkward for anyone who splits
    // names at '::', '[' or ' › '.
    expect(text).not.toBe("a::b[0]");
  });
}

test.describe("outer", () => {
  test("passes in a describe", () => {
    // One level down.
  });

  test.describe("inner › deeper", () => {
    test("fails in a nested describe", async () => {
      // Two levels down, failing within a step.
      await test.step("a step", () => {
        expect("left").toBe("right");
      });
    });
  });
});

test.describe("broken beforeAll", () => {
  test.beforeAll(() => {
    throw new Error("set-up broke: cannot reach <db> & co");
  });

  test("fails for its set-up", () => {
    // Never runs, but fails: see the set-up.
  });

  test("is skipped for its set-up", () => {
    // Never runs: see the set-up.
  });
});

test.describe("broken afterEach", () => {
  test.afterEach(() => {
    throw new Error("tear-down broke");
  });

  test("fails, then the tear-down breaks", () => {
    // The body fails, and then the tear-down throws too.
    throw new Error("the body failed");
  });
});

test("writes output", () => {
  // A green test which writes to both streams, and attaches a text.
  console.log("hello from stdout");
  console.error("hello from stderr");
  test.info().attach("note", { body: "some text", contentType: "text/plain" });
});

test("flaky by round", () => {
  // Fails in round 1 only, so that two runs of one commit differ.
  expect(process.env.FLAKEWISE_ROUND, "failed in round 1").not.toBe("1");
});
