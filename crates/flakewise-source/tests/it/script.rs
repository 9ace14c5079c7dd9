//! Tests in JavaScript and TypeScript.

use flakewise_source::{Framework, Language, PieceKind, TokenKind, read_source};

use crate::support::{call, context, find, helpers, javascript, names, words};

#[test]
fn tests_are_calls_with_a_title() {
    let file = javascript(
        "test('one', () => {});\nit(\"two\", async function () {})\nit.only(`three`, done => {});\n\
         test.skip('four', () => {});\ntest.todo('five');\nit.concurrent('six', () => {});\n\
         it.each([1, 2])('seven %i', (x) => {});\ntest.each`a | b\n${1} | ${2}`('eight $a', ({ a }) => {});\n\
         xit('nine', () => {});\ntest('te' +\n  'n', () => {});\ntest(name, () => {});\nawait test('eleven', () => {});\n\
         test.skip(({ browser }) => browser, 'why');\ntest.use({ a: 1 });\nother('never', () => {});\n\
         for (const x of [1]) { test(`twelve ${x}`, () => {}); }\n[1].forEach((x) => it('thirteen', () => {}));\n\
         function later() { it('never', () => {}); }\ntest('one', () => { test('never', () => {}); });\n",
    );
    let expected = [
        "one",
        "two",
        "three",
        "four",
        "five",
        "six",
        "seven %i",
        "eight $a",
        "nine",
        "ten",
        "name",
        "eleven",
        "twelve ${x}",
        "thirteen",
        "one",
    ];
    assert_eq!(names(&file), expected);
    assert!(file.tests.iter().all(|test| test.framework == Framework::Describe));
    assert_eq!(file.tests[0].id.as_str(), "jest:src/cart.test.js::one");
    assert_eq!(file.tests[14].id.as_str(), "jest:src/cart.test.js::one[#2]");
    assert_eq!(&*file.tests[0].body.text, "test('one', () => {});");
    assert!(file.issues.is_empty());
}

#[test]
fn groups_are_the_class_path_of_each_runner() {
    let body = "describe('outer > a', () => { describe.each([1])('inner', () => { it('adds', () => {}); }); });\n\
                describe(Cart.name, function () { it('adds', () => {}); });\n";
    let ids = |import: &str| {
        let file = javascript(&format!("{import}\n{body}"));
        file.tests.iter().map(|test| test.id.to_string()).collect::<Vec<_>>()
    };
    let path = "src/cart.test.js";
    assert_eq!(ids(""), [format!("jest:{path}::outer > a inner::adds"), format!("jest:{path}::Cart::adds")]);
    assert_eq!(ids("import { it } from 'vitest';")[0], format!("vitest:{path}::outer::a::inner::adds"));
    assert_eq!(
        ids("const { it } = require('node:test');")[0],
        format!("node:{path}::outer > a::inner::adds")
    );
    let file = javascript(
        "import { test } from '@playwright/test';\ntest.describe.serial('outer', () => {\n  \
         test.beforeEach(async () => {});\n  test('adds › up', () => {});\n});\ntest.describe(() => { test('b', () => {}); });\n",
    );
    assert_eq!(file.tests[0].id.as_str(), "playwright:src/cart.test.js::outer::adds::up");
    assert_eq!(file.tests[1].id.as_str(), "playwright:src/cart.test.js::b");
    assert_eq!(context(&file.tests[0], PieceKind::SetUp), ["beforeEach"]);
}

#[test]
fn context_and_helpers_are_of_the_file() {
    let file = javascript(
        "import fs from 'fs';\nconst { load } = require('./load');\nlet port = 80, host;\njest.mock('./a', () => ({}));\n\
         jest.retryTimes(2);\nfunction start() { deeper(); }\nconst deeper = async () => { start(); };\nconst unused = () => 1;\n\
         class Server { constructor() {} send() { helper(); } }\nfunction helper() {}\n\
         beforeAll(() => { start(); });\nafterAll(stop);\n\
         describe('outer', () => {\n  let inner;\n  beforeEach(() => {});\n  afterEach(async () => {});\n  \
         const helper = () => {};\n  it('one', () => { start(); helper(); server.send(); });\n  it('two', () => {});\n});\n\
         describe('beside', () => { let hidden; it('three', () => { helper(); }); });\n",
    );
    let one = find(&file, "one");
    assert_eq!(helpers(one), ["start", "helper", "send", "deeper", "helper"]);
    assert!(one.helpers[1].text.starts_with("const helper"));
    assert_eq!(context(one, PieceKind::Import), ["fs", "./load"]);
    assert_eq!(context(one, PieceKind::Field), ["port", "inner"]);
    assert_eq!(context(one, PieceKind::SetUp), ["mock", "retryTimes", "beforeAll", "beforeEach"]);
    assert_eq!(context(one, PieceKind::TearDown), ["afterAll", "afterEach"]);
    assert_eq!(context(one, PieceKind::Class), ["outer"]);
    assert!(std::sync::Arc::ptr_eq(&one.context, &find(&file, "two").context));
    assert!(find(&file, "three").helpers[0].text.starts_with("function helper"));
}

#[test]
fn words_and_calls_of_a_body() {
    let file = javascript(
        "test('one', async () => {\n  // No word.\n  const x = new Cart(5);\n  await sleep(100);\n  \
         expect(x?.total(1, 2)).toEqual(`a ${b()}`);\n});\n",
    );
    let body = &file.tests[0].body;
    let words = words(body);
    assert!(words.contains(&(TokenKind::Text, "'one'")));
    assert!(words.contains(&(TokenKind::Text, "`a ${b()}`")));
    assert!(words.contains(&(TokenKind::Number, "100")));
    assert!(words.contains(&(TokenKind::Keyword, "await")));
    assert!(words.contains(&(TokenKind::Identifier, "expect")));
    assert!(words.iter().all(|(_, word)| !word.contains("word")));
    let expected = [
        call(None, "test", 2, 1),
        call(None, "Cart", 1, 3),
        call(None, "sleep", 1, 4),
        call(None, "expect", 1, 5),
        call(Some("x"), "total", 2, 5),
        call(Some("expect(x?.total(1, 2))"), "toEqual", 1, 5),
        call(None, "b", 0, 5),
    ];
    assert_eq!(body.calls, expected);
}

#[test]
fn metrics_are_of_the_body() {
    let file = javascript(
        "import _ from 'lodash/fp';\nimport { render } from '@testing-library/react';\nimport fs from 'node:fs';\n\
         const axios = require('axios').default;\nimport own from './own';\n\
         test('one', () => {\n  for (let i = 0; i < 5; i++) {\n    if (a && b) {\n      expect(c).toBe(1);\n    } else if (d) {\n      \
         assert.equal(fs, own);\n    } else {\n      e();\n    }\n  }\n  try { f(); } catch (e) { expect.soft(1).toBe(_); }\n  \
         switch (g) { case 1: break; default: h ? i : j; }\n  expect.any(axios);\n});\n",
    );
    let metrics = find(&file, "one").metrics;
    assert_eq!(metrics.assertions, 3);
    assert_eq!(metrics.ast_depth, 3);
    // for, if, &&, else if, catch, one case, ?:
    assert_eq!(metrics.cyclomatic_complexity, 8);
    assert_eq!(metrics.lines, 14);
    assert_eq!(metrics.external_modules, 2);
}

#[test]
fn types_and_elements_are_understood() {
    let source = "import { it } from 'vitest';\ninterface Cart { total: number }\nconst make = <T,>(x: T): T => x;\n\
                  it('one', async (): Promise<void> => {\n  const cart = make<Cart>({ total: 1 }) as Cart;\n  expect(cart!.total).toBe(1);\n});\n";
    let file = read_source("a.test.ts", Language::TypeScript, source.as_bytes());
    assert_eq!(names(&file), ["one"]);
    assert_eq!(helpers(&file.tests[0]), ["make"]);
    assert!(file.issues.is_empty(), "{:?}", file.issues);
    let source = "it('one', () => { render(<Cart items={[1]}>it's (text</Cart>); });\nit('two', () => {});\n";
    for (path, language) in [("a.test.tsx", Language::Tsx), ("a.test.jsx", Language::JavaScript)] {
        let file = read_source(path, language, source.as_bytes());
        assert_eq!(names(&file), ["one", "two"]);
        assert!(file.issues.is_empty(), "{:?}", file.issues);
    }
}

#[test]
fn a_broken_test_leaves_the_others() {
    let good = |name: &str| format!("  it('{name}', () => {{ check(1); }});\n");
    for broken in [
        "  it('broken', () => { const x = ; if ( });\n",
        "  it('broken', () => { f(1,,; });\n",
        "  ??? %% @ \n",
    ] {
        let source =
            format!("describe('a', () => {{\n{}{broken}{}{}}});\n", good("one"), good("two"), good("three"));
        let file = javascript(&source);
        let found: Vec<String> = file.tests.iter().map(|test| test.id.name()).collect();
        for name in ["one", "two", "three"] {
            assert!(found.iter().any(|found| found == name), "{name} is lost after {broken:?}: {found:?}");
        }
        assert!(!file.issues.is_empty());
    }
}
