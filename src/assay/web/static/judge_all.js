// All documents of a query in one list: a grade, or other words for it, is a new vote.
"use strict";
for (const item of document.querySelectorAll(".all li")) {
  const why = item.querySelector(".why"), key = DRAFT + item.dataset.doc, picks = [...item.querySelectorAll(".pick")];
  const title = item.querySelector("a").textContent;
  let grade = item.dataset.vote ? item.dataset.grade : null, said = why.value.trim(), seen = item.dataset.vote;

  const pick = (value) => {
    grade = value;
    for (const button of picks) button.setAttribute("aria-pressed", String(button.dataset.grade === grade));
  };
  // a draft, as the page of one document keeps it
  const keep = () => store(localStorage, key, { grade: grade === null || grade === "" ? null : Number(grade), rationale: why.value, seen });
  const refuse = (text) => {
    why.setAttribute("aria-invalid", "true");
    document.getElementById("state").textContent = text;
    keep();
    why.focus();
  };
  const give = () => {
    if (grade === null) return;
    const rationale = why.value.trim();
    if (tooLong(rationale)) return refuse(tooLong(rationale));
    if (desk.required && grade !== "" && !saysWhy(rationale)) {
      why.placeholder = words.needsReasonAll;
      return refuse(rationale ? words.weakReason : words.needsReasonAll);
    }
    why.removeAttribute("aria-invalid");
    store(localStorage, key, null);
    said = rationale;
    seen = item.dataset.vote = votes.give({ doc_id: item.dataset.doc, title, grade: grade === "" ? null : Number(grade), rationale, seen }).id;
  };
  for (const button of picks) button.addEventListener("click", (event) => {
    if (event.detail > 1) return;
    pick(button.dataset.grade);
    give();
  });
  const draft = stored(localStorage, key, null);
  if (draft) {
    why.value = draft.rationale;
    seen = draft.seen ?? seen;
    if (draft.grade !== null) pick(String(draft.grade));
  }
  const changed = () => { if (why.value.trim() !== said) give(); };
  why.addEventListener("input", keep);
  why.addEventListener("change", changed);
  why.addEventListener("keydown", (event) => { if (event.key === "Enter") { event.preventDefault(); changed(); } });
}
// the judge was asked, and what another window said holds
votes.listeners.push((vote, saved, refused, overtaken) => { if (overtaken && !votes.waiting(true).length) location.reload(); });
