/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/* The cells of a box, or of a search, as a list whose entries open in place. */

const SHOWN = 200; // entries that are drawn at a time
const FACETS = ["data", "QP setter", "flags", "variant"];
const panel = document.getElementById("panel");
let opened = null; // the button or field that the panel was opened from

const severity = (box, i) => WORST_FIRST.indexOf(worst(outcomesOf(box, i)));

function entry(box, i, whole) {
  const id = idOf(box, i), letters = outcomesOf(box, i), fault = faultOf(box, i);
  const words = letters.map((l, run) => (several ? `${head.runs[run].name} ` : "") + NAMES[l]).join(", ");
  const name = whole ? id : tailOf(box, i) || id;
  const summary = make("summary", {},
    make("span", { class: "marks" }, make("span", { class: "hidden" }, `${words}: `), ...letters.map(markOf)),
    make("code", {}, name.split("/").join("\u200b/\u200b")),
    several && differs(box, i) ? make("span", { class: "different" }, "≠") : null,
    make("span", { class: "level" }, head.levels[box.levels[i]]),
    fault ? make("span", { class: "why" }, fault) : null);
  const details = make("details", { class: "entry", "data-id": id }, summary);
  details.addEventListener("toggle", async () => {
    if (details.open && !details.querySelector(".cell")) details.append(await cellBody(box, i));
    if (details.open) history.replaceState(history.state, "", `#${id}`);
  });
  return details;
}

/* Draws the first entries, and a button for more. */
function fill(list, cells, whole, from = 0) {
  const until = Math.min(cells.length, from + SHOWN);
  list.append(...cells.slice(from, until).map(([box, i]) => entry(box, i, whole)));
  if (until === cells.length) return;
  const more = make("button", { type: "button", class: "more" }, `${number(cells.length - until)} more`);
  more.addEventListener("click", () => {
    more.remove();
    fill(list, cells, whole, until);
    list.children[from + SHOWN].querySelector("summary").focus();
  });
  list.append(more);
}

/* Choices by the coordinates of the ids, where there are many cells. */
function facets(box, places, redraw) {
  const values = FACETS.map((_, at) => [...new Set(places.map((i) => tailOf(box, i).split("/")[at] || ""))]);
  const wanted = FACETS.map(() => null);
  const select = (at) => {
    const options = values[at].map((v) => make("option", { value: v }, v === "" ? "none" : v));
    const field = make("select", {}, make("option", { value: "*" }, "all"), ...options);
    field.addEventListener("change", () => {
      wanted[at] = field.value === "*" ? null : field.value;
      redraw(places.filter((i) => wanted.every((w, n) => w === null || (tailOf(box, i).split("/")[n] || "") === w)));
    });
    return make("label", {}, make("span", {}, FACETS[at]), field);
  };
  const useful = FACETS.map((_, at) => at).filter((at) => values[at].length > 1);
  return places.length > 12 && box.api !== "suite" ? make("div", { class: "facets" }, ...useful.map(select)) : null;
}

function worstFirst(cells) {
  return cells.map((cell, at) => [severity(...cell), at, cell]).sort((a, b) => a[0] - b[0] || a[1] - b[1]).map((t) => t[2]);
}

function fillPanel(title, subtitle, choices, cells, whole, home = false) {
  const list = make("div", { class: "list" });
  const count = make("span", { class: "count" });
  const draw = (here) => {
    list.replaceChildren();
    count.textContent = `${number(here.length)} ${here.length === 1 ? "cell" : "cells"}`;
    fill(list, worstFirst(here), whole);
  };
  const close = make("button", { type: "button", class: "close", "aria-label": "Close", onclick: closePanel }, "✕");
  const top = make("div", { class: "top" }, make("div", {}, make("h2", {}, title), make("p", {}, subtitle, " ", count)), close);
  panel.replaceChildren(top, choices(draw) || "", list);
  draw(cells);
  document.body.classList.toggle("opened", !home);
  panel.scrollTop = 0;
}

function showBox(box) {
  const places = chosen(box);
  const pairs = (list) => list.map((i) => [box, i]);
  const choices = (draw) => facets(box, places, (list) => draw(pairs(list)));
  const legal = box.legal ? "" : "Not in the page's table. ";
  fillPanel(`${box.op} on ${box.qp}`, `${head.titles[box.api]}. ${legal}`, choices, pairs(places), false);
  panel.dataset.key = box.key;
  panel.dataset.home = "";
  markOpen();
}

function openBox(box) {
  opened = document.activeElement;
  showBox(box);
  history.pushState(null, "", `#${box.key}`);
  panel.focus({ preventScroll: true });
}

/* The contents before a box is opened: the selected cells, else those that need attention. */
function showHome(home = true) {
  const wanted = isFiltered() ? () => true : several ? differs : (box, i) => !"ps".includes(box.outcomes[0][i]);
  const cells = [...boxes.values()].flatMap((box) => chosen(box).filter((i) => wanted(box, i)).map((i) => [box, i]));
  const title = isFiltered() ? "Cells found" : several ? "Cells whose outcomes differ" : "Cells that do not pass";
  const hint = cells.length ? "" : "Select a box of the matrix to see its cells.";
  fillPanel(title, hint, () => null, cells, true, home);
  delete panel.dataset.key;
  panel.dataset.home = home ? "home" : "";
  markOpen();
}

function listAll() {
  opened = document.activeElement;
  showHome(false);
  panel.focus({ preventScroll: true });
}

function closePanel() {
  showHome();
  history.replaceState(null, "", location.pathname + location.search);
  if (opened && opened.isConnected) opened.focus({ preventScroll: true });
}

/* Marks the box whose cells are shown. */
function markOpen() {
  for (const button of document.querySelectorAll(".box")) {
    button.setAttribute("aria-expanded", button.dataset.key === panel.dataset.key ? "true" : "false");
  }
}
