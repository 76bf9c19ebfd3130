// What an expert types on the review page is kept, and a change of the row is said.
"use strict";
const form = document.getElementById("review");
// What is being typed is kept in this tab until it is decided: a page that is left, a server that is away or a login that
// has ended loses nothing. What the server gave back is newer, and wins.
const draft = (form || document.getElementById("kept"))?.elements.item.value;
const submitted = sessionStorage.getItem("submitted");
if (submitted && submitted !== draft) sessionStorage.removeItem(`draft ${submitted}`);
if (form) {
  const fields = () => [...form.elements].filter((field) => ["doc", "grade", "add", "note", "why"].includes(field.name));
  const choice = (field) => ["checkbox", "radio"].includes(field.type);
  const saved = form.hasAttribute("data-given") ? null : JSON.parse(sessionStorage.getItem(`draft ${draft}`));
  for (const field of saved ? fields() : []) {
    const value = saved[choice(field) ? `${field.name} ${field.value}` : field.name];
    if (value !== undefined) field[choice(field) ? "checked" : "value"] = value;
  }
  form.addEventListener("input", () => {
    const values = fields().map((field) => choice(field) ? [`${field.name} ${field.value}`, field.checked] : [field.name, field.value]);
    sessionStorage.setItem(`draft ${draft}`, JSON.stringify(Object.fromEntries(values)));
  });
  const marked = () => {
    const changed = [...form.querySelectorAll('input[name="doc"]')].some((box) => !box.checked)
      || ["add", "note"].some((name) => form.elements[name]?.value.trim());
    form.querySelector(".plain").hidden = changed;
    form.querySelector(".changed").hidden = !changed;
  };
  form.addEventListener("input", marked);
  marked();
  form.addEventListener("submit", (event) => {
    const needed = form.elements[event.submitter?.dataset.needs];
    if (needed && !needed.value.trim()) {
      event.preventDefault();
      needed.focus();
      needed.placeholder = "?";
      return;
    }
    sessionStorage.setItem("submitted", draft);
  });
}
