/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/* The matrix: a table for each API, a row for each operation, a column for each QP type. */

function tally(box, places, run) {
  const counts = {};
  for (const i of places) counts[box.outcomes[run][i]] = (counts[box.outcomes[run][i]] || 0) + 1;
  return counts;
}

/* One run's line in a box: the worst outcome, how many cells have it, and below it the share of each. */
function line(box, places, run) {
  const counts = tally(box, places, run);
  const letters = [...WORST_FIRST].filter((l) => counts[l]);
  const shares = letters.length > 1 ? letters.map((l) => make("s", { class: NAMES[l], style: `flex-grow:${counts[l]}` })).reverse() : [];
  const words = letters.map((l) => `${number(counts[l])} ${NAMES[l]}`).join(", ");
  const content = [
    several ? make("b", { class: "letter" }, letterOf(run)) : null,
    make("i", {}, mark(letters[0])),
    letters[0] === "." ? "" : number(counts[letters[0]]),
    shares.length ? make("span", { class: "share" }, ...shares) : null,
  ];
  return { words, element: make("span", { class: `line ${NAMES[letters[0]]}`, "aria-hidden": "true" }, ...content) };
}

function boxButton(box, places) {
  const lines = head.runs.map((_, run) => line(box, places, run));
  const different = places.filter((i) => differs(box, i)).length;
  const said = lines.map((l, run) => (several ? `${head.runs[run].name}: ` : "") + l.words).join("; ");
  const label = `${box.op} on ${box.qp}${box.legal ? "" : ", which the page's table does not have"}: ${said}${different ? `; ${different} differ` : ""}`;
  return make(
    "button",
    { type: "button", class: `box ${box.legal ? "" : "illegal"}`, "data-key": box.key, "aria-label": label, title: label, onclick: () => openBox(box) },
    ...lines.map((l) => l.element),
    different ? make("span", { class: "different", "aria-hidden": "true" }, `≠ ${number(different)}`) : null,
  );
}

function rowOf(op, types, here) {
  const cellOf = (qp) => {
    const box = here.find((b) => b.op === op && b.qp === qp);
    const places = box ? chosen(box) : [];
    return make("td", { role: "cell", "data-qp": qp }, places.length ? boxButton(box, places) : make("span", { class: "none" }, box ? "0" : ""));
  };
  return make("tr", { role: "row" }, make("th", { scope: "row", role: "rowheader" }, op), ...types.map(cellOf));
}

function tableOf(api) {
  const here = [...boxes.values()].filter((b) => b.api === api);
  const types = [...new Set(here.map((b) => b.qp))];
  const kept = here.filter((b) => !isFiltered() || b.tails.some((_, i) => matches(b, i)));
  const ops = [...new Set(kept.map((b) => b.op))];
  if (!ops.length) return null;
  const headers = types.map((t) => make("th", { scope: "col", role: "columnheader" }, t.replace("_", "_\u200b")));
  const first = make("th", { scope: "col", role: "columnheader" }, "operation");
  return make(
    "section",
    { class: "api", id: `api-${api}` },
    make("h2", {}, head.titles[api]),
    make(
      "table",
      { class: "matrix", role: "table", style: `--types:${types.length}` },
      make("thead", { role: "rowgroup" }, make("tr", { role: "row" }, first, ...headers)),
      make("tbody", { role: "rowgroup" }, ...ops.map((op) => rowOf(op, types, here))),
    ),
  );
}

function legend() {
  const item = (o) => make("li", {}, make("span", { class: `mark ${o}` }, head.words[o][0]), make("b", {}, o), ` ${head.words[o][2]}`);
  const used = Object.keys(head.words).filter((o) => head.runs.some((run) => run.summary[o]) || o === "pass" || o === "fail");
  const dashed = make("li", {}, make("span", { class: "sample" }), "not in the page's table: the device must refuse it");
  const says = make("li", {}, "A box shows the worst outcome of its cells, and how many cells have it.");
  return make("details", { class: "signs" }, make("summary", {}, "Legend"), make("ul", {}, says, ...used.map(item), dashed));
}

function drawMatrix() {
  const apis = [...new Set([...boxes.values()].map((b) => b.api))];
  const tables = apis.map(tableOf).filter(Boolean);
  const none = make("p", { class: "nothing" }, "No cell matches.");
  document.getElementById("matrix").replaceChildren(...(tables.length ? [legend(), ...tables] : [none]));
  markOpen();
}

/* Arrow keys move between the boxes. */
function walk(event) {
  const steps = { ArrowLeft: [0, -1], ArrowRight: [0, 1], ArrowUp: [-1, 0], ArrowDown: [1, 0] };
  const step = steps[event.key];
  const cell = event.target.closest("td");
  if (!step || !cell) return;
  const rows = [...document.querySelectorAll(".matrix tbody tr")];
  let y = rows.indexOf(cell.parentElement), x = [...cell.parentElement.children].indexOf(cell);
  for (;;) {
    y += step[0];
    x += step[1];
    const next = rows[y] && rows[y].children[x];
    if (!next || x < 1) return;
    const button = next.querySelector("button");
    if (button) {
      button.focus();
      event.preventDefault();
      return;
    }
  }
}
