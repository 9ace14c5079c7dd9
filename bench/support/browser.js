// Looks at the HTML report in headless Chromium, for bench/html. Prints JSON.
//
//   node browser.js CHROMIUM TASK   (TASK is JSON; NODE_PATH has puppeteer-core and axe-core)
"use strict";
const fs = require("node:fs");
const { pathToFileURL } = require("node:url");
const puppeteer = require("puppeteer-core");

const [chromium, text] = process.argv.slice(2);
const task = JSON.parse(text);

async function open(browser, path, { width = 1280, scheme = "light", script = true, fragment = "" } = {}) {
  const page = await browser.newPage();
  const seen = { dialogs: 0, requests: [], errors: [] };
  page.on("dialog", (dialog) => { seen.dialogs++; dialog.dismiss(); });
  page.on("request", (request) => {
    if (!/^(file|data):/.test(request.url())) seen.requests.push(request.url());
  });
  page.on("error", (error) => console.error(`the page crashed: ${error.message}`));
  page.on("pageerror", (error) => seen.errors.push(String(error.message)));
  page.on("console", (message) => { if (message.type() === "error") seen.errors.push(message.text()); });
  await page.setJavaScriptEnabled(script);
  await page.setViewport({ width, height: 900 });
  await page.emulateMediaFeatures([{ name: "prefers-color-scheme", value: scheme }]);
  await page.goto(pathToFileURL(path) + fragment, { waitUntil: "load", timeout: 120000 });
  return { page, seen };
}

// First contentful paint, the time until the table is there, and the time from a key to the next painted frame.
async function speed(browser) {
  const loads = [];
  for (let load = 0; load < task.loads; load++) {
    const { page } = await open(browser, task.path);
    loads.push(await page.evaluate(async (queries) => {
      const frame = () => new Promise((done) => requestAnimationFrame(() => {
        const channel = new MessageChannel();
        channel.port1.onmessage = () => done(performance.now());
        channel.port2.postMessage(0);
      }));
      await frame();
      // The entry of a paint can come after the frame it is about.
      const paint = await new Promise((resolve) => new PerformanceObserver((list, observer) => {
        const [entry] = list.getEntriesByName("first-contentful-paint");
        if (entry) {
          observer.disconnect();
          resolve(entry);
        }
      }).observe({ type: "paint", buffered: true }));
      const field = document.getElementById("query");
      const filters = [];
      for (const query of queries) {
        const begin = performance.now();
        field.value = query;
        field.dispatchEvent(new Event("input", { bubbles: true }));
        filters.push(await frame() - begin);
      }
      const begin = performance.now();
      document.querySelector("#head button").click();
      const sort = await frame() - begin;
      return { paint: paint.startTime, loaded: performance.timing.loadEventEnd - performance.timing.navigationStart, filter: Math.max(...filters), sort };
    }, ["c", "checkout", "checkout flaky order", "no such test", ""]));
    await page.close();
  }
  return loads;
}

async function accessibility(browser) {
  const axe = fs.readFileSync(require.resolve("axe-core/axe.min.js"), "utf8");
  const found = [];
  let checks = 0;
  for (const scheme of ["light", "dark"]) {
    for (const width of task.widths) {
      for (const view of ["table", "test"]) {
        const { page, seen } = await open(browser, task.path, { width, scheme });
        if (view === "test") {
          await page.evaluate(() => document.querySelector("#offenders + ol a").click());
          await page.waitForSelector("#test-title");
        }
        // Nothing may be wider than the screen: people would have to scroll sideways.
        const wide = await page.evaluate(() => document.documentElement.scrollWidth - window.innerWidth);
        await page.evaluate(axe);
        const result = await page.evaluate(() => window.axe.run(document, { resultTypes: ["violations"] }));
        checks += result.passes.length;
        for (const violation of result.violations) {
          found.push({ scheme, width, view, impact: violation.impact, id: violation.id, nodes: violation.nodes.length, first: violation.nodes[0].html.slice(0, 200) });
        }
        if (wide > 0) found.push({ scheme, width, view, impact: "serious", id: "wider-than-the-screen", nodes: 1, first: `${wide} px` });
        for (const error of seen.errors.concat(seen.requests)) {
          found.push({ scheme, width, view, impact: "serious", id: "error-or-request", nodes: 1, first: error });
        }
        await page.close();
      }
    }
  }
  return { checks, found };
}

async function hostile(browser) {
  const expected = JSON.parse(fs.readFileSync(task.expected, "utf8"));
  const wrong = [];
  const { page, seen } = await open(browser, task.path);
  const look = () => page.evaluate(() => ({
    harm: window.harm !== undefined,
    scripts: document.querySelectorAll("script").length,
    others: document.querySelectorAll("img, iframe, object, base, meta[http-equiv=refresh], body *[onerror], body *[onload]").length,
    rows: [...document.querySelectorAll("#rows tr")].map((row) => ({
      name: row.querySelector(".name").textContent, file: row.querySelector(".file").textContent,
      link: row.querySelector("a").hash,
    })),
    title: document.getElementById("test-title") && document.getElementById("test-title").textContent,
  }));
  const table = await look();
  const check = (state, where) => {
    if (state.harm) wrong.push(`a script ran (${where})`);
    if (state.scripts !== 2 || state.others !== 0) wrong.push(`markup came from data (${where})`);
  };
  check(table, "table");
  while (await page.evaluate(() => {
    const next = document.querySelector("#pages button:last-child");
    next.click();
    return !next.disabled;
  })) {
    const more = await look();
    check(more, "table");
    table.rows.push(...more.rows);
  }
  if (table.rows.length !== expected.length) wrong.push(`${table.rows.length} rows instead of ${expected.length}`);
  for (let at = 0; at < table.rows.length; at++) {
    const { name, file, link } = table.rows[at];
    if (name !== expected[at].name || file !== expected[at].file) wrong.push(`row ${at} shows ${JSON.stringify(name).slice(0, 80)}`);
    await page.evaluate((hash) => { window.location.hash = hash; }, link);
    await page.waitForFunction((name) => {
      const title = document.getElementById("test-title");
      return title && title.textContent === name;
    }, { timeout: 20000 }, expected[at].name).catch(() => wrong.push(`the page of row ${at} has another title`));
    check(await look(), `test ${at}`);
  }
  for (const error of [...seen.errors, ...seen.requests]) wrong.push(error);
  if (seen.dialogs > 0) wrong.push(`${seen.dialogs} dialogs`);
  const plain = await open(browser, task.path, { script: false });
  if (plain.seen.dialogs > 0 || plain.seen.requests.length > 0) wrong.push("something happened without script");
  const rows = (await plain.page.$$("noscript tbody tr")).length;
  if (rows !== Math.min(50, expected.length)) wrong.push(`${rows} rows without script`);
  return { tests: table.rows.length, wrong };
}

(async () => {
  const args = process.getuid && process.getuid() === 0 ? ["--no-sandbox"] : [];
  const browser = await puppeteer.launch({ executablePath: chromium, args, protocolTimeout: 300000 });
  try {
    const result = { version: await browser.version() };
    result.answer = await { speed, accessibility, hostile }[task.kind](browser);
    console.log(JSON.stringify(result));
  } finally {
    await browser.close();
  }
})().catch((error) => {
  console.error(error);
  process.exitCode = 1;
});
