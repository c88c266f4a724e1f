/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/* The page's data: a head, an index of all cells, and the details of each box, the latter two compressed. */

const head = JSON.parse(document.getElementById("head").textContent);
const NAMES = { p: "pass", f: "fail", l: "flaky", k: "known", u: "unexpected", s: "skipped", ".": "absent" };
const WORST_FIRST = "fulkps.";
const several = head.runs.length > 1;
const mark = (letter) => (letter === "." ? " " : head.words[NAMES[letter]][0]);
const letterOf = (run) => String.fromCharCode(65 + run);

async function unpack(id) {
  const bytes = Uint8Array.from(atob(document.getElementById(id).textContent), (c) => c.charCodeAt(0));
  const stream = new Blob([bytes]).stream().pipeThrough(new DecompressionStream("gzip"));
  return new Response(stream).json();
}

/* By key: { key, part, api, op, qp, legal, tails, levels, clauses, outcomes, changed, faults } */
const boxes = new Map();

async function loadIndex() {
  for (const box of await unpack("index")) boxes.set(box.key, box);
}

const sizeOf = (box) => box.tails.length;
const tailOf = (box, i) => box.tails[i];
const idOf = (box, i) => (tailOf(box, i) ? `${box.key}/${tailOf(box, i)}` : box.key);
const outcomesOf = (box, i) => box.outcomes.map((all) => all[i]);
const faultOf = (box, i) => box.changed[i] || box.faults[i];
const worst = (letters) => [...WORST_FIRST].find((l) => letters.includes(l));
/* Whether devices that ran the cell have different outcomes; those that did not run it are ignored. */
const differs = (box, i) => new Set(outcomesOf(box, i).filter((l) => l !== "s" && l !== ".")).size > 1;

/* The box of an id and its place in it, or only the box. */
function locate(id) {
  const key = id.split("/").slice(0, 3).join("/");
  const box = boxes.get(key);
  if (!box) return null;
  const place = box.tails.findIndex((_, i) => idOf(box, i) === id);
  return { box, place: place < 0 ? null : place };
}

const parts = new Map();

/* The details of a cell: { clause, also, errata, expected, runs: [null or { seen, faults, calls, ... }] } */
async function detailsOf(box, i) {
  if (!parts.has(box.part)) parts.set(box.part, unpack(box.part));
  const { strings, cells } = await parts.get(box.part);
  const text = (n) => (n === null ? null : strings[n]);
  const texts = (list) => list.map(text);
  const [[clause, also, errata, expected], ...runs] = cells[i];
  const artefact = ([kind, path, lines]) => ({ kind: text(kind), path: text(path), text: lines && texts(lines).join("\n") });
  const seenBy = ([seen, faults, calls, errno, us, reason, artefacts, again]) => ({
    seen: text(seen), faults: texts(faults), calls: texts(calls[1]).map((call) => call.replaceAll("{wr_id}", calls[0])), errno: text(errno), us, reason: text(reason),
    artefacts: artefacts.map(artefact), again: again.map(([outcome, seen, faults]) => ({ outcome: text(outcome), seen: text(seen), faults: texts(faults) })),
  });
  return { clause: text(clause), also: texts(also), errata: texts(errata), expected: text(expected), runs: runs.map((r) => r && seenBy(r)) };
}

/* -- which cells are selected */

const filter = { terms: [], outcome: "", level: "", differ: false, changed: false };
const isFiltered = () => filter.terms.length > 0 || filter.outcome !== "" || filter.level !== "" || filter.differ || filter.changed;
const ADDRESSES = new Set(head.places);
const addressOf = (box, i) => head.places[box.clauses[i]];

function matches(box, i) {
  if (filter.level && box.levels[i] !== filter.level) return false;
  if (filter.differ && !differs(box, i)) return false;
  if (filter.changed && !box.changed[i]) return false;
  if (filter.outcome && !outcomesOf(box, i).some((o) => (filter.outcome === "!" ? o !== "p" && o !== "." : o === filter.outcome))) return false;
  if (!filter.terms.length) return true;
  const text = `${idOf(box, i)} ${box.op} ${box.qp} ${faultOf(box, i) || ""}`.toLowerCase();
  return filter.terms.every((term) => (ADDRESSES.has(term) ? addressOf(box, i) === term : text.includes(term)));
}

/* Places of the selected cells of a box. */
function chosen(box) {
  const all = [...box.tails.keys()];
  return isFiltered() ? all.filter((i) => matches(box, i)) : all;
}

/* -- elements */

/* make("td", { class: "x", onclick: f }, "text", element, ...) */
function make(tag, attributes = {}, ...content) {
  const element = document.createElement(tag);
  for (const [name, value] of Object.entries(attributes)) {
    if (name.startsWith("on")) element.addEventListener(name.slice(2), value);
    else if (value === true) element.setAttribute(name, "");
    else if (value !== null && value !== undefined && value !== false) element.setAttribute(name, value);
  }
  element.append(...content.filter((c) => c !== null && c !== undefined));
  return element;
}

const markOf = (letter) => make("span", { class: `mark ${NAMES[letter]}`, "aria-hidden": "true" }, mark(letter));
const number = (n) => n.toLocaleString("en");
