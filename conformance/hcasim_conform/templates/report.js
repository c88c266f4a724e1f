/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
"use strict";
const record = JSON.parse(document.getElementById("data").textContent);
const words = { pass: "pass", fail: "FAIL", known: "fail (known)", unexpected: "PASS (?)" };

function make(tag, text, cls) {
  const e = document.createElement(tag);
  if (text !== undefined) e.textContent = text;
  if (cls) e.className = cls;
  return e;
}

function row(list, term, content) {
  const dd = make("dd");
  dd.append(...[content].flat());
  list.append(make("dt", term), dd);
}

function body(cell) {
  const list = make("dl");
  row(list, "page", [make("blockquote", record.clauses[cell.clause]), make("code", cell.clause)]);
  for (const id of cell.errata) {
    const e = record.errata[id];
    row(list, "erratum", `${id}: the page says: ${e.page}. Decided: ${e.decision}. Because: ${e.reason}.`);
  }
  row(list, "expected", cell.expected);
  row(list, "seen", cell.seen || "nothing");
  if (cell.faults.length) row(list, "faults", cell.faults.map((f) => make("div", f, "fail")));
  if (cell.reason) row(list, "known because", cell.reason);
  row(list, "calls", make("pre", cell.calls.join("\n") || "none: the runner did not get there"));
  return list;
}

function entry(cell) {
  const d = make("details"), s = make("summary");
  d.id = cell.id;
  s.append(make("span", words[cell.outcome], "mark " + cell.outcome), cell.id.split("/").slice(3).join(" / "), make("span", "  " + cell.level, "level"));
  d.append(s);
  d.addEventListener("toggle", () => { if (d.open && !d.querySelector("dl")) d.append(body(cell)); });
  return d;
}

function show(button) {
  const panel = button.closest("section").querySelector(".open");
  const { api, op, qp } = button.dataset;
  const cells = record.cells.filter((c) => c.api === api && c.op === op && c.qp === qp);
  const label = make("label"), only = make("input");
  only.type = "checkbox";
  label.append(only, " only those that do not pass");
  const list = make("div");
  const fill = () => list.replaceChildren(...cells.filter((c) => !only.checked || c.outcome !== "pass").map(entry));
  only.addEventListener("change", fill);
  fill();
  panel.replaceChildren(make("h3", `${op} on ${qp}`), label, list);
  panel.hidden = false;
  button.setAttribute("aria-expanded", "true");
}

function close(section) {
  section.querySelector(".open").hidden = true;
  for (const b of section.querySelectorAll("[aria-expanded=true]")) b.setAttribute("aria-expanded", "false");
}

document.addEventListener("click", (event) => {
  const button = event.target.closest("td button");
  if (!button) return;
  const open = button.getAttribute("aria-expanded") === "true";
  close(button.closest("section"));
  if (!open) {
    show(button);
    button.closest("section").querySelector(".open").scrollIntoView({ block: "nearest" });
  }
});

/* report.html#CELL-ID opens that cell */
function openHash() {
  const cell = record.cells.find((c) => c.id === decodeURIComponent(location.hash.slice(1)));
  if (!cell) return;
  const same = (b) => b.dataset.api === cell.api && b.dataset.op === cell.op && b.dataset.qp === cell.qp;
  const button = [...document.querySelectorAll("td button")].find(same);
  close(button.closest("section"));
  show(button);
  const d = document.getElementById(cell.id);
  d.open = true;
  d.scrollIntoView();
}
window.addEventListener("hashchange", openHash);
openHash();
