// Grading beside the ranks: a grade and a reason, which are a vote as on the judging page.
"use strict";
const asked = document.getElementById("grading").dataset;
const make = (name, facts, ...inside) => { const made = Object.assign(document.createElement(name), facts); made.append(...inside); return made; };
const rubric = assay.get(`/api/judge/rubric?${new URLSearchParams({ set: asked.set })}`).then(answer => answer.rubric.grades);

// A document that nobody is asked about is asked for first.
async function give(doc, grade, rationale) {
  const id = Array.from(crypto.getRandomValues(new Uint8Array(16)), byte => byte.toString(16).padStart(2, "0")).join("");
  const vote = () => assay.post("/api/votes", { id, set: asked.set, query_id: asked.query, doc_id: doc, grade, rationale });
  try {
    await vote();
  } catch (error) {
    if (error.status !== 400) throw error;
    try { await assay.post("/api/pool", { set: asked.set, query_id: asked.query, doc_id: doc }); } catch { throw error; }
    await vote();
  }
}

async function open(hit, button) {
  const told = make("span", { className: "small", role: "status" }), why = make("input", { placeholder: asked.why, ariaLabel: asked.why, dir: "auto" });
  let chosen = null;
  const picks = (await rubric).map(each => make("button", { type: "button", title: each.label, ariaLabel: `${each.value} ${each.label}`, className: `pick g${Math.min(each.value, 2)}`, onclick: (event) => {
    chosen = each.value;
    for (const pick of picks) pick.setAttribute("aria-pressed", String(pick === event.currentTarget));
    why.focus();
  } }, String(each.value)));
  const form = make("form", { className: "grading" }, make("span", { className: "row" }, ...picks), why, make("button", { className: "approve" }, asked.save), told);
  form.addEventListener("submit", async (event) => {
    event.preventDefault();
    if (chosen === null) return picks[0].focus();
    try {
      await give(hit.dataset.doc, chosen, why.value.trim());
      for (const same of document.querySelectorAll(`.hit[data-doc="${CSS.escape(hit.dataset.doc)}"]`)) {
        same.querySelector(".grading, .togrades")?.replaceWith(make("span", { className: "small togrades" }, `${asked.yours} ${chosen}`));
      }
      hit.classList.remove("open");
      assay.say(`${asked.yours} ${chosen}`);
    } catch (error) { told.textContent = error.message; }
  });
  hit.classList.add("open");
  button.replaceWith(form);
  picks[0].focus();
}
for (const hit of document.querySelectorAll(".hit")) {
  const button = make("button", { type: "button", className: "quiet togrades" }, asked.grade);
  button.addEventListener("click", () => open(hit, button));
  hit.querySelector(".hit-head").append(button);
}
