// An answer beside its sources. The judging page does the rest: this shows a claim with its source, and
// the finding of a chip. What is shown of a chip alone is nothing to grade: then no claim is chosen.
"use strict";
const side = document.querySelector(".answer-side"), panel = document.querySelector(".panel");
const chips = [...document.querySelectorAll(".answer-text [data-chip]")];
const narrow = matchMedia("(max-width: 1050px)");
let chosenChip = -1, follow = null, begun = false;

// The finding or the claim as the server wrote it.
const written = id => [...(document.getElementById(id)?.cloneNode(true).childNodes ?? [])];

// What the answer shows as chosen: a sentence, or what a chip stands on.
function point(sentence, chip = null) {
  for (const each of side.querySelectorAll(".cur")) each.classList.remove("cur");
  for (const each of side.querySelectorAll("[data-chip]")) each.toggleAttribute("aria-current", chip !== null && each.dataset.chip === chip);
  const shown = chip === null ? side.querySelector(`.sentence[data-sentence="${CSS.escape(sentence)}"]`) : side.querySelector(`[data-on="${CSS.escape(chip)}"]`);
  if (!shown || (chip === null && sentence === "-1")) return;
  shown.classList.add("cur");
  if (!narrow.matches) shown.scrollIntoView({ block: "nearest" });
}

// A text with its quoted words marked, or the nearest passage, where it is opened.
function source(read) {
  const law = reading.make("div", "", "law"), text = read.row.text;
  law.dir = "auto";
  law.tabIndex = 0;  // it scrolls
  law.setAttribute("role", "region");
  law.setAttribute("aria-label", read.facts[0] || read.row.doc_id);
  if (read.language) law.lang = read.language;
  let at = 0;
  for (const [start, end] of read.marks.length ? read.marks : read.near ? [read.near] : []) {
    if (start < at) continue;
    law.append(text.slice(at, start), reading.make(read.marks.length ? "mark" : "span", text.slice(start, end), "spot"));
    at = end;
  }
  law.append(text.slice(at));
  if (!text) law.append(reading.make("p", reading.words.noText, "quiet"));
  return law;
}

function opened(box) {
  box.setAttribute("aria-busy", "false");
  const law = box.querySelector(".law"), spot = box.querySelector(".spot");
  box.scrollTop = 0;
  if (spot) law.scrollTop = spot.getBoundingClientRect().top - law.getBoundingClientRect().top - law.clientHeight / 3;
  if (begun && narrow.matches) requestAnimationFrame(() => box.scrollIntoView({ block: "start" }));
  begun = true;
}

reading.show = (box, read) => {
  const claim = document.getElementById(`claim-${read.row.doc_id}`), kind = claim?.dataset.kind ?? "support";
  const said = document.getElementById("claim-words").dataset, whole = kind === "correct" || kind === "grounded";
  panel.classList.toggle("yesno", whole);
  panel.classList.remove("nothing");
  for (const button of panel.querySelectorAll(".grade")) {
    const label = button.querySelector("b");
    label.dataset.label ??= label.textContent;
    label.textContent = !whole ? label.dataset.label : button.dataset.grade === "0" ? said.no : said.yes;
    button.hidden = whole && !["0", "2"].includes(button.dataset.grade);
  }
  if (follow === null) chosenChip = -1;
  point(claim?.dataset.sentence ?? "-1", follow);
  follow = null;
  box.replaceChildren(...written(`claim-${read.row.doc_id}`));
  if (kind === "support") {
    const head = reading.make("header"), title = reading.make("b", read.facts[0] ?? "");
    title.dir = "auto";
    head.append(title);
    box.append(head, source(read));
  }
  opened(box);
};

// A chip opens its claim where it has one; else its finding, with nothing to grade.
function openChip(button) {
  const at = pairs.findIndex(pair => pair.doc === button.dataset.claim);
  follow = at >= 0 ? button.dataset.chip : null;
  if (at >= 0) show(at);
  else {
    if (place >= 0) keepDraft();
    place = -1;
    chosen = null;
    showStrip();
    paper.replaceChildren(...written(`chip-${button.dataset.chip}`));
    panel.classList.add("nothing");
    opened(paper);
  }
  point("-1", button.dataset.chip);
  chosenChip = chips.findIndex(chip => chip.dataset.chip === button.dataset.chip);
  assay.say(`${button.title} ${button.textContent}`);
}

document.addEventListener("click", (event) => {
  const chip = event.target.closest("[data-chip]"), step = event.target.closest("[data-step]");
  if (chip) openChip(chips.find(each => each.dataset.chip === chip.dataset.chip) ?? chip);
  if (!step || !chips.length) return;
  const by = Number(step.dataset.step), from = chosenChip < 0 && by < 0 ? 0 : chosenChip;
  openChip(chips[(from + by + chips.length) % chips.length]);
});

addEventListener("DOMContentLoaded", () => {
  acts.add = () => {};  // claims are not searched for
  const first = document.querySelector(".fault");
  if (!pairs.length && first) openChip(first);
  else if (!pairs.length) paper.setAttribute("aria-busy", "false");
});
