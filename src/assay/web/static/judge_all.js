// All documents of a query in one list: a grade, or other words for it, is a new vote.
"use strict";
for (const item of document.querySelectorAll(".all li")) {
  const why = item.querySelector(".why");
  let grade = item.dataset.vote ? item.dataset.grade : null;

  const give = () => {
    if (grade === null) return;
    if (desk.required && grade !== "" && !saysWhy(why.value)) {
      why.setAttribute("aria-invalid", "true");
      why.placeholder = words.needsReason;
      document.getElementById("state").textContent = why.value.trim() ? words.weakReason : words.needsReason;
      return why.focus();
    }
    if (tooLong(why.value.trim())) {
      why.setAttribute("aria-invalid", "true");
      document.getElementById("state").textContent = tooLong(why.value.trim());
      return why.focus();
    }
    why.removeAttribute("aria-invalid");
    item.dataset.vote = votes.give({ doc_id: item.dataset.doc, grade: grade === "" ? null : Number(grade), rationale: why.value.trim(), seen: item.dataset.vote }).id;
  };
  for (const button of item.querySelectorAll(".pick")) button.addEventListener("click", (event) => {
    if (event.detail > 1) return;
    grade = button.dataset.grade;
    for (const other of item.querySelectorAll(".pick")) other.setAttribute("aria-pressed", String(other === button));
    give();
  });
  let said = why.value.trim();
  const changed = () => { if (why.value.trim() !== said) { said = why.value.trim(); give(); } };
  why.addEventListener("change", changed);
  why.addEventListener("keydown", (event) => { if (event.key === "Enter") { event.preventDefault(); changed(); } });
}
// the judge was asked, and what another window said holds
votes.listeners.push((vote, saved, refused, overtaken) => { if (overtaken && !votes.waiting(true).length) location.reload(); });
