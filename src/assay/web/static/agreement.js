// Agreement: the labels computed again, and one disagreement ruled on: as one of the judges says, by one
// key, or by a digit, a sentence and Enter. The last ruling of this tab can be opened again.
"use strict";
const byId = id => document.getElementById(id);
const told = byId("told");

const RULED = "assay.ruled";
let last = null;
try { last = sessionStorage.getItem(RULED); } catch { /* then it cannot be opened again by a key */ }
if (last && byId("again") && last !== location.pathname + location.search) {
  byId("again").href = last;
  byId("again").hidden = false;
}

if (byId("labels")) byId("labels").addEventListener("click", async (event) => {
  event.currentTarget.disabled = true;
  const button = event.currentTarget, said = byId("words").dataset;
  told.textContent = said.saving;
  try {
    const done = await assay.post("/api/labels", { set: button.dataset.set });
    const facts = { labels: done.labels, votes: done.votes, changed: done.changed.length, open: done.open };
    told.textContent = said.labelsDone.replace(/\{(\w+)\}/g, (_, name) => facts[name]);
  } catch (error) { told.textContent = error.message; }
  button.disabled = false;
});

if (byId("rule")) {
  const asked = byId("rule").dataset, why = byId("why"), said = byId("words").dataset;
  let chosen = null, busy = false;
  const where = new URLSearchParams({ set: asked.set, query: asked.query, doc: asked.doc });
  assay.arrived(() => assay.get(`/api/judge/document?${where}`), () => true, lost => byId("document").replaceChildren(reading.make("p", lost, "said")))
    .then(read => reading.show(byId("document"), read))
    .catch(error => byId("document").replaceChildren(reading.make("p", error.message, "said")));

  const ids = new Map();  // one for each ruling: the same one, sent again after a lost answer, is the same act
  const rule = async () => {
    if (busy || chosen === null) return;
    if (!why.value.trim()) { told.textContent = said.ruleNeedsReason; return why.focus(); }
    if (why.value.trim().length > Number(asked.longest)) {
      told.textContent = said.tooLong.replace("{n}", why.value.trim().length).replace("{most}", asked.longest);
      return why.focus();
    }
    busy = true;
    told.textContent = said.saving;
    try {
      const ruling = { set: asked.set, query_id: asked.query, doc_id: asked.doc, grade: chosen, rationale: why.value.trim(), seen: asked.seen };
      const key = JSON.stringify(ruling);
      if (!ids.has(key)) ids.set(key, crypto.randomUUID ? crypto.randomUUID() : "");
      await assay.post("/api/rulings", { ...ruling, act: ids.get(key) });
      try { sessionStorage.setItem(RULED, location.pathname + location.search); } catch { /* as above */ }
      location.assign(asked.next);
    } catch (error) { told.textContent = error.message; busy = false; }
  };
  addEventListener("keydown", (event) => {  // a key that is held down rules once, not on the next one too
    if (event.repeat && !event.target.matches("textarea, input")) event.stopImmediatePropagation();
  }, { capture: true });
  for (const side of document.querySelectorAll(".adopt")) side.addEventListener("click", () => {
    if (busy) return;
    chosen = Number(side.dataset.grade);
    why.value = side.dataset.why;
    rule();
  });
  for (const button of document.querySelectorAll(".grade")) button.addEventListener("click", (event) => {
    if (event.detail > 1) return;
    chosen = Number(button.dataset.grade);
    for (const other of document.querySelectorAll(".grade")) other.setAttribute("aria-pressed", String(other === button));
    for (const start of document.querySelectorAll(".start")) start.hidden = Number(start.dataset.for) !== chosen;
    told.textContent = said.ruleNeedsReason;
    why.focus();
  });
  for (const start of document.querySelectorAll(".start")) start.addEventListener("click", () => {
    why.setRangeText(start.dataset.text, why.selectionStart, why.selectionEnd, "end");
    why.focus();
  });
  byId("save").addEventListener("click", rule);
  byId("towhy").addEventListener("click", () => why.focus());
  why.addEventListener("keydown", (event) => {
    if (event.key === "Enter" && !event.shiftKey && !event.isComposing) { event.preventDefault(); rule(); }
  });
}
