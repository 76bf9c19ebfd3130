// Agreement: the labels computed again, and one disagreement ruled on: a grade and a reason, which T takes
// from a judge, and Enter. The last ruling of this tab can be undone: its reason is kept.
"use strict";
const byId = id => document.getElementById(id);
const told = byId("told");

const RULED = "assay.ruled", AGAIN = "assay.ruling";
const here = location.pathname + location.search;
const kept = (key) => { try { return JSON.parse(sessionStorage.getItem(key)); } catch { return null; } };
const keep = (key, value) => { try { value ? sessionStorage.setItem(key, JSON.stringify(value)) : sessionStorage.removeItem(key); } catch { /* for this page only */ } };

// Withdraws a ruling, and opens its pair with the reason that was typed.
async function withdraw(ruling) {
  told.textContent = "";
  try {
    await assay.post("/api/rulings/withdraw", { set: ruling.set, query_id: ruling.query, doc_id: ruling.doc, seen: ruling.seen });
    keep(RULED, null);
    keep(AGAIN, ruling);
    location.assign(ruling.address);
  } catch (error) { told.textContent = error.message; }
}
const last = kept(RULED);
if (last) {
  const bar = byId("last"), facts = { grade: last.grade, title: last.title };
  bar.querySelector("span").textContent = bar.dataset.said.replace(/\{(\w+)\}/g, (_, name) => facts[name]);
  bar.hidden = false;
  bar.querySelector("button").addEventListener("click", () => withdraw(last));
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
  let chosen = null, busy = false, title = asked.doc;
  const where = new URLSearchParams({ set: asked.set, query: asked.query, doc: asked.doc });
  assay.arrived(() => assay.get(`/api/judge/document?${where}`), () => true, lost => byId("document").replaceChildren(reading.make("p", lost, "said")))
    .then(read => { title = read.row.title || title; reading.show(byId("document"), read); })
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
      keep(RULED, { set: asked.set, query: asked.query, doc: asked.doc, seen: ids.get(key) || null, grade: chosen, why: ruling.rationale, title, address: here });
      location.assign(asked.next);
    } catch (error) { told.textContent = error.message; busy = false; }
  };
  addEventListener("keydown", (event) => {  // a key that is held down rules once, not on the next one too
    if (event.repeat && !event.target.matches("textarea, input")) event.stopImmediatePropagation();
  }, { capture: true });
  const choose = (grade) => {
    chosen = grade;
    for (const button of document.querySelectorAll(".grade")) button.setAttribute("aria-pressed", String(Number(button.dataset.grade) === grade));
    for (const start of document.querySelectorAll(".start")) start.hidden = Number(start.dataset.for) !== grade;
  };
  const sides = [...document.querySelectorAll(".adopt")];
  let taken = -1;
  for (const [at, side] of sides.entries()) side.addEventListener("click", () => {
    if (busy) return;
    taken = at;
    for (const other of sides) other.closest(".opinion").classList.toggle("taken", other === side);
    choose(Number(side.dataset.grade));
    why.value = side.dataset.why;
    told.textContent = said.ruleConfirm;
    byId("save").focus();
  });
  byId("take").addEventListener("click", () => sides[(taken + 1) % sides.length]?.click());
  byId("withdraw")?.addEventListener("click", () => withdraw({ set: asked.set, query: asked.query, doc: asked.doc, seen: asked.seen, grade: null, why: "", address: here }));
  const again = kept(AGAIN);
  if (again?.address === here) {
    keep(AGAIN, null);
    if (again.grade !== null) choose(again.grade);
    why.value = again.why;
    told.textContent = said.withdrawn;
  }
  for (const button of document.querySelectorAll(".grade")) button.addEventListener("click", (event) => {
    if (event.detail > 1) return;
    choose(Number(button.dataset.grade));
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
