// Table, filter and test pages of the HTML report. Text from tests is only ever
// put into text nodes and attributes of our own choice, never parsed as markup.
"use strict";
(() => {
  const PAGE = 50;
  const SVG = "http://www.w3.org/2000/svg";
  const FIELDS = ["id", "name", "file", "verdict", "kind", "failures", "attempts", "low", "high", "runs", "lost",
    "last", "owner", "quarantine", "strip"];
  const COLUMNS = [
    { key: "name", title: "Test", className: "test" },
    { key: "verdict", title: "Verdict", className: "verdict" },
    { key: "kind", title: "Kind", className: "kind" },
    { key: "rate", title: "Failure rate", className: "rate number", descends: true },
    { key: "strip", title: "Last days", className: "days", fixed: true },
    { key: "runs", title: "Runs disturbed", className: "runs number", descends: true },
    { key: "lost", title: "Time lost", className: "lost number", descends: true },
    { key: "last", title: "Last failure", className: "last", descends: true },
    { key: "owner", title: "Owner", className: "owner" },
  ];
  // Most certain first, whatever the alphabet says.
  const VERDICTS = ["flaky", "probably flaky", "broken", "undecided", "not seen failing"];
  const OUTCOMES = {
    p: ["pass", "✓", "passed"], f: ["fail", "✕", "failed"], e: ["fail", "!", "errored"], t: ["fail", "T", "timed out"],
    c: ["fail", "C", "crashed"], s: ["other", "–", "skipped"], o: ["other", "○", "failed in an outage"],
  };

  // --- Data ------------------------------------------------------------------

  function decode(data) {
    return data.tests.map((cells, index) => {
      const row = { index };
      FIELDS.forEach((field, at) => { row[field] = cells[at]; });
      row.file = data.files[row.file];
      row.verdict = data.verdicts[row.verdict];
      row.kind = data.kinds[row.kind];
      row.owner = data.owners[row.owner];
      row.rate = row.attempts > 0 ? row.failures / row.attempts : 0;
      row.text = [row.file, row.name, row.kind, row.owner, row.verdict, row.id].join("\n").toLowerCase();
      return row;
    });
  }

  // Rows that contain every word of the query and fit the choices.
  function filter(rows, state) {
    const words = state.query.toLowerCase().split(/\s+/).filter(Boolean);
    return rows.filter((row) =>
      (!state.verdict || row.verdict === state.verdict) &&
      (!state.kind || row.kind === state.kind) &&
      (!state.quarantined || row.quarantine !== null) &&
      words.every((word) => row.text.includes(word)));
  }

  // Rows in order of a column; rows that are equal in it stay costliest first,
  // and rows with nothing in it come last in either direction.
  function sort(rows, key, descends) {
    const value = key === "verdict" ? (row) => VERDICTS.indexOf(row.verdict) : (row) => row[key];
    const empty = (item) => item === "" || item === null;
    return rows.slice().sort((left, right) => {
      const [a, b] = [value(left), value(right)];
      if (a === b) return left.index - right.index;
      if (empty(a) || empty(b)) return empty(a) ? 1 : -1;
      return (a < b ? -1 : 1) * (descends ? -1 : 1);
    });
  }

  // --- Words -----------------------------------------------------------------

  // A percentage that never rounds a chance into a certainty.
  function percent(share) {
    const value = share * 100;
    if (share <= 0) return "0 %";
    if (share >= 1) return "100 %";
    if (value < 0.1) return "< 0.1 %";
    if (value > 99.9) return "> 99.9 %";
    return (value < 9.95 || value > 99 ? value.toFixed(1) : value.toFixed(0)) + " %";
  }

  // A length of time in its two largest units.
  function duration(milliseconds) {
    const seconds = Math.floor(milliseconds / 1000);
    const two = (number) => String(number).padStart(2, "0");
    if (milliseconds < 1) return "0s";
    if (seconds < 1) return `${milliseconds}ms`;
    if (seconds < 60) return `${(milliseconds / 1000).toFixed(1)}s`;
    if (seconds < 3600) return `${Math.floor(seconds / 60)}m ${two(seconds % 60)}s`;
    if (seconds < 86400) return `${Math.floor(seconds / 3600)}h ${two(Math.floor(seconds % 3600 / 60))}m`;
    return `${Math.floor(seconds / 86400)}d ${two(Math.floor(seconds % 86400 / 3600))}h`;
  }

  function number(value) {
    return String(value).replace(/\B(?=(\d{3})+$)/g, ",");
  }

  function count(value, noun) {
    return `${number(value)} ${noun}${value === 1 ? "" : "s"}`;
  }

  // What the fragment of the address asks for: one test, or a view of the table.
  function parse(fragment) {
    const fields = new URLSearchParams(fragment.replace(/^#/, ""));
    const column = COLUMNS.find((column) => column.key === fields.get("sort") && !column.fixed);
    return {
      test: fields.get("test"),
      query: fields.get("q") || "",
      verdict: fields.get("verdict") || "",
      kind: fields.get("kind") || "",
      quarantined: fields.has("quarantined"),
      key: column ? column.key : "runs",
      descends: column ? fields.get("order") !== "up" : true,
      page: Math.max(0, Math.floor(Number(fields.get("page")) || 1) - 1),
    };
  }

  function address(state) {
    const fields = new URLSearchParams();
    if (state.query) fields.set("q", state.query);
    if (state.verdict) fields.set("verdict", state.verdict);
    if (state.kind) fields.set("kind", state.kind);
    if (state.quarantined) fields.set("quarantined", "1");
    if (state.key !== "runs" || !state.descends) {
      fields.set("sort", state.key);
      if (!state.descends) fields.set("order", "up");
    }
    if (state.page > 0) fields.set("page", String(state.page + 1));
    return "#" + fields.toString();
  }

  // --- Elements --------------------------------------------------------------

  // An element with attributes and children; texts become text nodes.
  function element(document, name, attributes, ...children) {
    const isDrawing = name === "svg" || name === "path";
    const made = isDrawing ? document.createElementNS(SVG, name) : document.createElement(name);
    for (const [key, value] of Object.entries(attributes)) {
      if (value !== undefined) made.setAttribute(key, value);
    }
    made.append(...children.flat(Infinity).filter((child) => child !== undefined && child !== ""));
    return made;
  }

  // A name that may break after its punctuation, so that words stay whole.
  function breakable(document, name) {
    return name.split(/(?<=[_:/.\[])(?![_:/.\[])/).flatMap((part, at) =>
      at > 0 ? [element(document, "wbr", {}), part] : [part]);
  }

  // A bar per day. Passes and failures differ in height as well as in colour.
  function strip(document, days, className) {
    let passes = "";
    let failures = "";
    let ran = 0;
    let failed = 0;
    for (let at = 0; at < days.length; at++) {
      if (days[at] === "-") continue;
      ran++;
      const level = Number(days[at]);
      if (level === 0) {
        passes += `M${at * 4} 20v-5h3v5z`;
      } else {
        failed++;
        failures += `M${at * 4} 20V${((9 - level) * 14 / 9).toFixed(1)}h3V20z`;
      }
    }
    return element(document, "svg", {
      class: className, viewBox: `0 0 ${Math.max(1, days.length * 4 - 1)} 20`, preserveAspectRatio: "none", role: "img",
      "aria-label": `failed on ${failed} of ${count(ran, "day")}`,
    }, element(document, "path", { class: "passes", d: passes }),
    element(document, "path", { class: "failures", d: failures }));
  }

  function badge(document, verdict) {
    const shapes = {
      "flaky": "M6 1 11 6 6 11 1 6z",
      "probably flaky": "M6 1 11 6 6 11 1 6zM6 3.4 3.4 6 6 8.6 8.6 6z",
      "broken": "M2 1 6 5l4-4 1 1-4 4 4 4-1 1-4-4-4 4-1-1 4-4-4-4z",
    };
    return element(document, "span", { class: `badge ${verdict.replace(/ /g, "-")}` },
      element(document, "svg", { viewBox: "0 0 12 12", "aria-hidden": "true" },
        element(document, "path", { "fill-rule": "evenodd", d: shapes[verdict] || "M6 2a4 4 0 1 1 0 8a4 4 0 1 1 0-8zM6 3.5a2.5 2.5 0 1 0 0 5a2.5 2.5 0 1 0 0-5z" })),
      element(document, "span", {}, verdict));
  }

  function renderRow(document, row) {
    const make = (name, attributes, ...children) => element(document, name, attributes, ...children);
    const cell = (className, ...children) => make("td", { class: className }, ...children);
    return make("tr", {},
      make("th", { scope: "row", class: "test" },
        make("a", { href: `#test=${row.id}`, class: "name" }, breakable(document, row.name)),
        make("span", { class: "file" }, breakable(document, row.file))),
      cell("verdict", badge(document, row.verdict),
        row.quarantine !== null ? make("span", { class: "file" }, "quarantined") : undefined),
      cell("kind", row.kind),
      cell("rate number", percent(row.rate),
        make("span", { class: "file" }, `${number(row.failures)} of ${number(row.attempts)}`)),
      cell("days", strip(document, row.strip, "strip")),
      cell("runs number", number(row.runs)),
      cell("lost number", duration(row.lost)),
      cell("last", row.last),
      cell("owner", row.owner));
  }

  // Attempts of one commit that follow each other.
  function byCommit(steps) {
    const groups = [];
    for (const step of steps) {
      const latest = groups[groups.length - 1];
      if (latest && step[2] !== "" && latest.commit === step[2]) latest.steps.push(step);
      else groups.push({ commit: step[2], steps: [step] });
    }
    for (const group of groups) {
      const has = (className) => group.steps.some((step) => (OUTCOMES[step[0]] || OUTCOMES.s)[0] === className);
      group.mixed = group.commit !== "" && has("pass") && has("fail");
    }
    return groups;
  }

  function renderSteps(document, steps) {
    const make = (name, attributes, ...children) => element(document, name, attributes, ...children);
    return make("ol", { class: "commits" }, byCommit(steps).map((group) =>
      make("li", { class: group.mixed ? "mixed" : undefined },
        make("span", { class: "cells" }, group.steps.map((step) => {
          const [className, sign, words] = OUTCOMES[step[0]] || OUTCOMES.s;
          const title = [words, step[1], step[3]].filter(Boolean).join(" · ");
          return make("span", { class: className, title },
            make("span", { "aria-hidden": "true" }, sign), make("span", { class: "unseen" }, `${words} `));
        })),
        make("code", {}, group.commit || "unknown"))));
  }

  function renderTest(document, row, details, window) {
    const make = (name, attributes, ...children) => element(document, name, attributes, ...children);
    const fact = (name, ...value) => make("div", {}, make("dt", {}, name), make("dd", {}, ...value));
    const section = (title, ...children) => make("section", {}, make("h3", {}, title), ...children);
    const parts = [
      make("p", { class: "back" }, make("a", { href: "#", id: "back" }, "← All tests")),
      make("header", {},
        badge(document, row.verdict),
        make("h2", { id: "test-title", tabindex: "-1" }, breakable(document, row.name)),
        make("p", { class: "file" }, row.file, details && details.runner ? ` · ${details.runner}` : "", ` · ${row.id}`)),
      make("dl", { class: "facts" },
        fact("Failure rate", `${percent(row.rate)}, ${number(row.failures)} of ${count(row.attempts, "first attempt")}`),
        fact("95 % interval", `${percent(row.low)} to ${percent(row.high)}`),
        details && details.reruns[1] > 0
          ? fact("Reruns", `${number(details.reruns[0])} of ${number(details.reruns[1])} failed`) : undefined,
        fact("Runs disturbed", number(row.runs)),
        fact("Time lost", duration(row.lost)),
        details && details.since ? fact("First failure", details.since) : undefined,
        row.last ? fact("Last failure", row.last) : undefined,
        row.kind ? fact("Kind", row.kind) : undefined,
        row.owner ? fact("Owner", row.owner) : undefined,
        row.quarantine !== null
          ? fact("Quarantine", row.quarantine === "no end" ? "does not expire" : `until ${row.quarantine}`) : undefined),
      section(`Last ${count(row.strip.length, "day")}`, strip(document, row.strip, "strip large"),
        make("p", { class: "dates" }, make("span", {}, window.first || ""), make("span", {}, window.last || ""))),
    ];
    if (!details) {
      parts.push(section("More", make("p", {}, "This page has details of the costliest tests only. For this one, run:"),
        make("pre", { tabindex: "0" }, `flakewise show ${row.id.slice(0, 8)}`)));
      return parts;
    }
    if (details.evidence.length > 0) {
      const lead = row.verdict === "flaky" ? "Flaky, proved:" : `P(flaky) = ${details.probability}:`;
      parts.push(section("Evidence", make("p", {}, lead),
        make("ul", {}, details.evidence.map((reason) => make("li", {}, reason)))));
    }
    if (details.changes.length > 0) {
      parts.push(section("Changes of the rate", make("ul", {}, details.changes.map((change) => make("li", {}, change)))));
    }
    if (details.quarantine && details.quarantine[2]) {
      parts.push(section("Quarantine", make("p", {}, details.quarantine[2],
        details.quarantine[1] ? ` (${details.quarantine[1]})` : "")));
    }
    if (details.steps.length > 0) {
      parts.push(section("Outcomes by commit",
        make("p", { class: "legend" }, `Latest ${count(details.steps.length, "attempt")}, oldest first. `,
          "A framed commit passed and failed: the same code, two outcomes."),
        renderSteps(document, details.steps)));
    }
    if (details.failures.length > 0) {
      parts.push(section("Failures", details.failures.map(([kind, message, fingerprint, times, since, last]) =>
        make("article", { class: "failure" },
          make("p", {}, make("strong", {}, kind || "Failure"), ` ${number(times)}× · `,
            since === last ? last : `${since} to ${last}`,
            fingerprint ? make("span", { class: "file" }, `fingerprint ${fingerprint}`) : undefined),
          message ? make("pre", { tabindex: "0" }, message) : undefined)),
      details.more_failures > 0
        ? make("p", { class: "legend" }, `and ${count(details.more_failures, "other group")} of failures`) : undefined));
    }
    if (details.culprits.length > 0) {
      parts.push(section("Culprits", details.culprits.map((culprit) => make("div", {},
        make("p", {}, "Ends differently after ", culprit.tests.map((test, at) =>
          [at > 0 ? ", then " : "", make("code", {}, test)])),
        make("ul", {}, culprit.shared.map((state) => make("li", {}, state)))))));
    }
    if (details.reproduce) {
      parts.push(section("Reproduce", make("pre", { tabindex: "0" }, details.reproduce)));
    }
    return parts;
  }

  // --- The page --------------------------------------------------------------

  function start(document, window) {
    const find = (id) => document.getElementById(id);
    const data = JSON.parse(find("data").textContent);
    const rows = decode(data);
    const byId = new Map(rows.map((row) => [row.id, row]));
    let state = parse(window.location.hash);
    let returnTo = null;

    for (const [id, names] of [["verdict", VERDICTS.filter((name) => data.verdicts.includes(name))],
      ["kind", data.kinds.filter(Boolean).sort()]]) {
      find(id).append(...names.map((name) => element(document, "option", { value: name }, name)));
      find(id).parentElement.hidden = names.length < 2;
    }
    find("quarantined").parentElement.hidden = !rows.some((row) => row.quarantine !== null);
    find("head").append(...COLUMNS.map((column) => element(document, "th", { scope: "col", class: column.className },
      column.fixed ? column.title : element(document, "button", { type: "button", "data-key": column.key }, column.title))));
    if (!rows.some((row) => row.owner)) find("table").classList.add("ownerless");
    if (!rows.some((row) => row.kind)) find("table").classList.add("kindless");
    for (const id of ["filter", "table", "legend"]) find(id).hidden = rows.length === 0;

    function showTable() {
      const found = sort(filter(rows, state), state.key, state.descends);
      const pages = Math.max(1, Math.ceil(found.length / PAGE));
      state.page = Math.min(state.page, pages - 1);
      const from = state.page * PAGE;
      const shown = found.slice(from, from + PAGE);
      find("rows").replaceChildren(...shown.map((row) => renderRow(document, row)));
      const all = found.length === rows.length ? count(rows.length, "test") : `${number(found.length)} of ${count(rows.length, "test")}`;
      find("count").textContent = pages > 1 ? `${all}, showing ${number(from + 1)} to ${number(from + shown.length)}` : all;
      COLUMNS.forEach((column, at) => {
        const head = find("head").children[at];
        if (column.key === state.key) head.setAttribute("aria-sort", state.descends ? "descending" : "ascending");
        else head.removeAttribute("aria-sort");
      });
      const step = (title, by, enabled) => element(document, "button",
        { type: "button", "data-by": String(by), disabled: enabled ? undefined : "" }, title);
      find("pages").replaceChildren(step("← Previous", -1, state.page > 0),
        element(document, "span", {}, `Page ${state.page + 1} of ${number(pages)}`), step("Next →", 1, state.page + 1 < pages));
      find("pages").hidden = pages === 1;
    }

    function change(update) {
      state = { ...state, page: 0, ...update };
      showTable();
      window.history.replaceState(null, "", address(state));
    }

    function showAddress() {
      const wanted = parse(window.location.hash);
      const row = wanted.test === null ? undefined : byId.get(wanted.test);
      find("overview-page").hidden = row !== undefined;
      find("test-page").hidden = row === undefined;
      if (row) {
        find("test-page").replaceChildren(...renderTest(document, row, Object.hasOwn(data.details, row.id) ? data.details[row.id] : undefined, data));
        window.scrollTo(0, 0);
        find("test-title").focus();
        return;
      }
      find("test-page").replaceChildren();
      if (window.location.hash !== "#tests" && wanted.test === null && address(wanted) !== address(state)) {
        state = wanted;
        fill();
        showTable();
      }
      if (returnTo) {
        window.scrollTo(0, returnTo.scroll);
        const link = document.querySelector(`a[href="${returnTo.href}"]`);
        if (link) link.focus({ preventScroll: true });
        returnTo = null;
      }
    }

    // Back to the table: by the browser's history if we came from there.
    function leave() {
      if (returnTo) window.history.back();
      else window.location.hash = address(state);
    }

    function fill() {
      find("query").value = state.query;
      find("verdict").value = state.verdict;
      find("kind").value = state.kind;
      find("quarantined").checked = state.quarantined;
    }

    find("filter").addEventListener("submit", (event) => event.preventDefault());
    find("query").addEventListener("input", () => change({ query: find("query").value }));
    for (const id of ["verdict", "kind"]) find(id).addEventListener("change", () => change({ [id]: find(id).value }));
    find("quarantined").addEventListener("change", () => change({ quarantined: find("quarantined").checked }));
    find("head").addEventListener("click", (event) => {
      const button = event.target.closest("button");
      if (!button) return;
      const column = COLUMNS.find((column) => column.key === button.dataset.key);
      change({ key: column.key, descends: column.key === state.key ? !state.descends : Boolean(column.descends) });
    });
    find("pages").addEventListener("click", (event) => {
      const button = event.target.closest("button");
      if (!button) return;
      change({ page: state.page + Number(button.dataset.by) });
      find("tests").scrollIntoView();
      find("tests").focus({ preventScroll: true });
    });
    document.addEventListener("click", (event) => {
      const link = event.target.closest("a[href^='#']");
      if (!link) return;
      if (link.id === "back") {
        event.preventDefault();
        leave();
      } else if (link.hash.startsWith("#test=")) {
        returnTo = { href: link.hash, scroll: window.scrollY };
      }
    });
    document.addEventListener("keydown", (event) => {
      if (event.ctrlKey || event.metaKey || event.altKey) return;
      const isField = /^(INPUT|SELECT|TEXTAREA)$/.test(event.target.tagName);
      if (event.key === "/" && !isField && !find("overview-page").hidden && !find("filter").hidden) {
        event.preventDefault();
        find("query").focus();
      } else if (event.key === "Escape" && !find("test-page").hidden) {
        leave();
      } else if (event.key === "Escape" && event.target.id === "query" && find("query").value) {
        event.preventDefault();
        find("query").value = "";
        change({ query: "" });
      }
    });
    window.addEventListener("hashchange", showAddress);

    fill();
    showTable();
    if (state.test !== null) showAddress();
  }

  if (typeof module === "object") {
    module.exports = { decode, filter, sort, percent, duration, number, parse, address, byCommit, strip, renderRow, renderTest, start };
  } else {
    start(document, window);
  }
})();
