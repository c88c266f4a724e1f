/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/* All details of a cell: the page's sentence, what was expected, what each device did, and how to repeat it. */

function copyButton(label, text) {
  const button = make("button", { type: "button", class: "copy" }, label);
  button.addEventListener("click", async () => {
    const done = await copy(text());
    button.textContent = done ? "Copied" : "Press Ctrl+C";
    setTimeout(() => (button.textContent = label), 1500);
  });
  return button;
}

/* Copies to the clipboard; where the browser forbids this to a file, selects the text for copying by keyboard. */
async function copy(text) {
  try {
    await navigator.clipboard.writeText(text);
    return true;
  } catch {
    const area = make("textarea", { class: "hidden", "aria-hidden": "true" });
    area.value = text;
    document.body.append(area);
    area.select();
    const done = document.execCommand("copy");
    area.remove();
    return done;
  }
}

/* A call as a C statement. */
const statement = (call) => (/^\s*(\/\*.*\*\/|.*;)\s*$/.test(call) ? call : `${call};`);

function wrapped(text, width) {
  const lines = [""];
  for (const word of text.split(/\s+/)) {
    const last = lines.length - 1;
    if (lines[last] && lines[last].length + word.length >= width) lines.push(word);
    else lines[last] += (lines[last] ? " " : "") + word;
  }
  return lines;
}

/* What the copy button gives: a C file (conformance/reproduce.h declares its names), with a comment that says what it is
   to show. */
function sourceOf(id, details, calls) {
  const sentence = `"${head.clauses[details.clause]}"`;
  const comment = [id, details.clause, ...wrapped(sentence, 100), ...wrapped(`Expected: ${details.expected}`, 100)];
  const safe = comment.map((l) => l.replaceAll("*/", "* /"));
  return [`#include "reproduce.h"`, ``, `/*`, ...safe.map((l) => ` * ${l}`), ` */`, `void reproduce(void)`, `{`,
    ...calls.map((call) => `\t${statement(call)}`), `}`, ""].join("\n");
}

const sentence = (clause) => [make("blockquote", {}, head.clauses[clause] || ""), make("code", { class: "clause" }, `${head.addresses[clause] || ""} ${clause}`)];
const term = (name, ...content) => [make("dt", {}, name), make("dd", {}, ...content)];

function erratum(id) {
  const e = head.errata[id];
  return make("details", { class: "erratum" }, make("summary", {}, `erratum ${id}`),
    make("p", {}, `Page: ${e.page}`), make("p", {}, `Decision: ${e.decision}`), make("p", {}, `Reason: ${e.reason}`));
}

const KINDS = { pcap: "Packets", wqe: "Work requests and completions", tlp: "PCIe transactions" };

function artefact(a, run) {
  const name = `${KINDS[a.kind] || a.kind}${several ? ` (${head.runs[run].name})` : ""}`;
  const link = a.path ? make("a", { href: encodeURI(a.path) }, a.path) : "";
  if (!a.text) return make("p", { class: "artefact" }, make("b", {}, name), " ", a.path ? link : "nothing");
  return make("details", { class: "artefact", open: !several && a.text.split("\n").length <= 12 },
    make("summary", {}, make("b", {}, name), " ", link), make("pre", {}, a.text));
}

/* The results of the devices' taps. */
const artefactsOf = (details) => details.runs.flatMap((seen, run) => (seen ? seen.artefacts.map((a) => artefact(a, run)) : []));

function seenTerms(letter, run) {
  const terms = [];
  if (run.reason) terms.push(...term(letter === "s" ? "skipped because" : "known difference", run.reason));
  if (letter === "s") return terms;
  terms.push(...term("observed", run.seen || "nothing", run.errno ? make("code", { class: "errno" }, run.errno) : null));
  const faults = run.faults.filter((f) => f !== run.seen);
  if (faults.length) terms.push(...term("faults", ...faults.map((f) => make("div", { class: "wrong" }, f))));
  run.again.forEach((r, n) => terms.push(...term(`run ${n + 1}`, make("div", {}, `${r.outcome}: ${r.faults[0] || r.seen || "nothing"}`))));
  return terms;
}

function callsBlock(id, details, run, letter) {
  const none = letter === "p" ? "A run of this many cells records no calls of passing cells. The command below shows them." : "No calls were recorded.";
  if (!run.calls.length) return make("p", { class: "nothing" }, none);
  return make("div", { class: "calls" },
    make("div", { class: "bar" }, make("span", {}, "C calls"), copyButton("Copy C", () => sourceOf(id, details, run.calls))),
    make("pre", {}, run.calls.map(statement).join("\n")));
}

/* One device's part of a cell. */
function seenBy(id, details, run, letter, sharedCalls) {
  const made = details.runs[run];
  const title = make("p", { class: `outcome ${NAMES[letter]}` }, markOf(letter), several ? make("b", { class: "letter" }, letterOf(run)) : null,
    several ? `${head.runs[run].name}: ` : "", make("b", {}, NAMES[letter]));
  if (!made) return make("article", { class: "seen" }, title, make("p", { class: "nothing" }, "This cell is not in the run."));
  return make("article", { class: "seen" }, title, make("dl", {}, ...seenTerms(letter, made)),
    ...(sharedCalls || letter === "s" ? [] : [callsBlock(id, details, made, letter)]));
}

function commandOf(id) {
  const words = head.runs.map((run) => `hcasim conform --dut ${run.dut.name} -k '${id}'`);
  return [...new Set(words)].join("\n");
}

async function cellBody(box, i) {
  const id = idOf(box, i);
  const details = await detailsOf(box, i);
  const letters = outcomesOf(box, i);
  const made = details.runs.filter((run) => run && run.calls.length);
  const same = made.length > 0 && made.every((run) => run.calls.join("\n") === made[0].calls.join("\n"));
  const command = commandOf(id);
  return make("div", { class: "cell" },
    make("dl", {},
      ...term("requirement", ...sentence(details.clause), ...details.errata.map(erratum)),
      ...(details.also.length ? term("also tests", ...details.also.flatMap(sentence)) : []),
      ...term("level", head.levels[box.levels[i]]),
      ...term("expected", details.expected)),
    make("div", { class: "devices" }, ...head.runs.map((_, run) => seenBy(id, details, run, letters[run], same))),
    same ? callsBlock(id, details, made[0]) : null,
    make("div", { class: "calls" }, make("div", { class: "bar" }, make("span", {}, "Command"), copyButton("Copy", () => command)), make("pre", {}, command)),
    ...artefactsOf(details),
    make("p", { class: "link" }, make("a", { href: `#${id}` }, "Link to this cell")));
}
