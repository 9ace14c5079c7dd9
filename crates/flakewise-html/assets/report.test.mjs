// Tests of the report's script: `node --test crates/flakewise-html/assets/report.test.mjs`
import assert from "node:assert/strict";
import { createRequire } from "node:module";
import test from "node:test";

const script = createRequire(import.meta.url)("./report.js");

const DATA = {
  verdicts: ["flaky", "broken", "undecided"],
  kinds: ["", "transient"],
  files: ["tests/test_cart.py", "tests/test_mail.py"],
  owners: ["", "@mira"],
  tests: [
    ["a0000001", "test_total", 0, 0, 1, 4, 100, 0.01, 0.1, 4, 90500, "2026-11-14", 1, "2026-12-01", "0-19"],
    ["a0000002", "test_sends", 1, 1, 0, 9, 9, 0.7, 1, 3, 1500, "2026-11-15", 0, null, "99"],
    ["a0000003", "TestCart::test_empty", 0, 2, 0, 1, 200, 0, 0.03, 1, 20, "", 0, null, "00"],
  ],
  details: {},
};
const rows = script.decode(DATA);
const state = (change) => ({ ...script.parse(""), ...change });
const ids = (found) => found.map((row) => row.id.slice(-1)).join("");

// As much of a document as rendering needs. It has no innerHTML: using it fails.
class Element {
  constructor(name) { this.name = name; this.attributes = {}; this.children = []; }
  setAttribute(key, value) { this.attributes[key] = value; }
  append(...children) { this.children.push(...children); }
  get textContent() { return this.children.map((child) => typeof child === "string" ? child : child.textContent).join(""); }
  find(name) { return this.children.flatMap((child) => typeof child === "string" ? [] : [...(child.name === name ? [child] : []), ...child.find(name)]); }
}
const document = { createElement: (name) => new Element(name), createElementNS: (_, name) => new Element(name) };

test("every word of a query must match, in any field and any case", () => {
  assert.equal(ids(script.filter(rows, state({ query: "" }))), "123");
  assert.equal(ids(script.filter(rows, state({ query: "CART test_" }))), "13");
  assert.equal(ids(script.filter(rows, state({ query: "  cart   @mira " }))), "1");
  assert.equal(ids(script.filter(rows, state({ query: "nothing" }))), "");
  assert.equal(ids(script.filter(rows, state({ query: ".*" }))), "", "a query is no pattern");
});

test("choices narrow the rows further", () => {
  assert.equal(ids(script.filter(rows, state({ verdict: "broken" }))), "2");
  assert.equal(ids(script.filter(rows, state({ kind: "transient" }))), "1");
  assert.equal(ids(script.filter(rows, state({ quarantined: true }))), "1");
  assert.equal(ids(script.filter(rows, state({ query: "mail", quarantined: true }))), "");
});

test("rows sort by any column, with empty cells last", () => {
  assert.equal(ids(script.sort(rows, "runs", true)), "123");
  assert.equal(ids(script.sort(rows, "runs", false)), "321");
  assert.equal(ids(script.sort(rows, "rate", true)), "213");
  assert.equal(ids(script.sort(rows, "last", true)), "213");
  assert.equal(ids(script.sort(rows, "last", false)), "123");
  assert.equal(ids(script.sort(rows, "verdict", false)), "123", "most certain first, not by the alphabet");
  assert.equal(ids(rows), "123", "the rows themselves stay as they are");
});

test("an address gives back the view it was made from", () => {
  for (const change of [{}, { query: "a&b=c #" }, { verdict: "broken", page: 3 }, { key: "name", descends: false }, { kind: "x", quarantined: true }]) {
    const view = state(change);
    assert.deepEqual(script.parse(script.address(view)), view);
  }
  assert.equal(script.parse("#test=a0000001").test, "a0000001");
  assert.equal(script.parse("#sort=__proto__&page=-4").key, "runs");
  assert.equal(script.parse("#page=-4").page, 0);
});

test("numbers read as in the terminal", () => {
  assert.deepEqual([0, 0.00001, 0.031, 0.42, 0.994, 0.99999, 1].map(script.percent),
    ["0 %", "< 0.1 %", "3.1 %", "42 %", "99.4 %", "> 99.9 %", "100 %"]);
  assert.deepEqual([0, 250, 41230, 362000, 12000000, 200000000].map(script.duration),
    ["0s", "250ms", "41.2s", "6m 02s", "3h 20m", "2d 07h"]);
  assert.deepEqual([0, 999, 1234567].map(script.number), ["0", "999", "1,234,567"]);
});

test("a strip tells passes from failures by height, and says both", () => {
  const drawn = script.strip(document, "0-19", "strip");
  assert.equal(drawn.attributes["aria-label"], "failed on 2 of 3 days");
  const [passes, failures] = drawn.children.map((path) => path.attributes.d);
  assert.equal(passes, "M0 20v-5h3v5z");
  assert.equal(failures, "M8 20V12.4h3V20zM12 20V0.0h3V20z");
});

test("attempts of one commit are together, and mixed outcomes are marked", () => {
  const step = (outcome, commit) => [outcome, "2026-11-15 10:00", commit, ""];
  const groups = script.byCommit([step("p", "a"), step("f", "a"), step("p", "b"), step("s", "b"), step("f", ""), step("p", "")]);
  assert.deepEqual(groups.map((group) => [group.commit, group.steps.length, group.mixed]),
    [["a", 2, true], ["b", 2, false], ["", 1, false], ["", 1, false]]);
});

test("names and messages become text, whatever they hold", () => {
  const harm = "</script><img src=x onerror=alert(1)>";
  const [row] = script.decode({ ...DATA, files: [harm, ""], kinds: ["", harm], owners: ["", harm], tests: [["a0000001", harm, ...DATA.tests[0].slice(2)]] });
  const details = {
    runner: harm, probability: harm, evidence: [harm], changes: [harm], reruns: [1, 2], since: harm, quarantine: [harm, harm, harm],
    steps: [["f", harm, harm, harm], ["?", "", "", ""]], failures: [[harm, harm, harm, 1, harm, harm]], more_failures: 2,
    culprits: [{ tests: [harm, harm], shared: [harm] }], reproduce: harm,
  };
  const body = new Element("body");
  body.append(script.renderRow(document, row), ...script.renderTest(document, row, details, { first: harm, last: harm }));
  assert.equal(body.find("img").length + body.find("script").length, 0);
  assert.equal(body.find("a")[0].textContent, harm);
  assert.ok(body.find("pre").some((block) => block.textContent === harm));
  for (const link of body.find("a")) assert.match(link.attributes.href, /^#(test=a0000001)?$/);
});

test("a test without details names the command that has them", () => {
  const body = new Element("body");
  body.append(...script.renderTest(document, rows[1], undefined, DATA));
  assert.equal(body.find("pre")[0].textContent, "flakewise show a0000002");
});
