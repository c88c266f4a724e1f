/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/* Start, search field, and report.html#CELL-ID, which opens that cell. */

const field = (id) => document.getElementById(id);

function readFilter() {
  filter.terms = field("find").value.toLowerCase().split(/\s+/).filter(Boolean);
  filter.outcome = field("outcome").value;
  filter.level = field("level").value;
  filter.differ = Boolean(field("differ") && field("differ").checked);
  filter.changed = Boolean(field("changed") && field("changed").checked);
}

function redraw() {
  readFilter();
  drawMatrix();
  const some = isFiltered();
  const found = [...boxes.values()].reduce((n, box) => n + chosen(box).length, 0);
  const all = [...boxes.values()].reduce((n, box) => n + sizeOf(box), 0);
  field("found").textContent = some ? `${number(found)} of ${number(all)} cells` : `${number(all)} cells`;
  field("list-all").hidden = !found;
  const box = boxes.get(panel.dataset.key);
  if (box && chosen(box).length) showBox(box);
  else showHome();
}

/* The cell, or the box, that the address names. */
async function openAddress() {
  const found = locate(decodeURIComponent(location.hash.slice(1)));
  if (!found) return;
  if (found.place !== null && !matches(found.box, found.place)) {
    field("tools").reset();
    redraw();
  }
  showBox(found.box);
  if (found.place === null) return;
  const id = idOf(found.box, found.place);
  const shown = (e) => e.dataset.id === id;
  let item = [...panel.querySelectorAll(".entry")].find(shown);
  if (!item) {
    item = entry(found.box, found.place, false);
    panel.querySelector(".list").prepend(item);
  }
  item.append(await cellBody(found.box, found.place));
  item.open = true;
  item.scrollIntoView({ block: "start" });
  item.querySelector("summary").focus({ preventScroll: true });
}

function keys(event) {
  if (event.key === "Escape" && !panel.dataset.home) closePanel();
  else if (event.key === "/" && !event.target.closest("input, select, textarea")) {
    event.preventDefault();
    field("find").focus();
  } else walk(event);
}

async function start() {
  if (!("DecompressionStream" in window)) {
    field("matrix").replaceChildren(make("p", { class: "fault" }, "This browser is too old: it has no DecompressionStream. results.json has the same data."));
    return;
  }
  await loadIndex();
  redraw();
  let timer;
  field("tools").addEventListener("input", () => {
    clearTimeout(timer);
    timer = setTimeout(redraw, 100);
  });
  field("tools").addEventListener("submit", (event) => event.preventDefault());
  field("list-all").addEventListener("click", listAll);
  for (const link of document.querySelectorAll(".requirement")) {
    link.addEventListener("click", () => {
      field("tools").reset();
      field("find").value = link.textContent;
      redraw();
      listAll();
    });
  }
  document.addEventListener("keydown", keys);
  window.addEventListener("hashchange", openAddress);
  window.addEventListener("popstate", () => !location.hash && !panel.dataset.home && closePanel());
  await openAddress();
  document.documentElement.dataset.ready = "true";
}
start();
