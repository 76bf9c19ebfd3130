// The chair's gate: what is typed is kept, a change of the row is said, documents open in place and more are found.
"use strict";
const form = document.getElementById("review");
const item = (form || document.getElementById("kept"))?.dataset.item;

// What is being typed is kept in this tab until it is decided: a page that is left, a server that is away or a session
// that has ended loses nothing. What the server gave back is newer, and wins.
const submitted = sessionStorage.getItem("submitted");
if (submitted && submitted !== item) {  // of what was decided only the words are kept, for an undo
  const { note, why } = JSON.parse(sessionStorage.getItem(`draft ${submitted}`) ?? "{}");
  sessionStorage.setItem(`draft ${submitted}`, JSON.stringify({ note, why }));
  sessionStorage.removeItem("submitted");
}

const boxes = () => [...document.querySelectorAll('input[name="doc"]')];
const titleOf = (box) => box.closest(".doc").querySelector("b").textContent;
const inRow = (box) => !box.closest(".doc").classList.contains("candidate");

function pieces(into, parts) {
  for (const [text, hit] of parts) {
    const node = hit ? document.createElement("mark") : document.createTextNode("");
    node.textContent = text;
    into.append(node);
  }
}

// A document that a search found, as one more that can be added. Its digit is the next that is free.
function addCard(found) {
  const known = boxes().find((box) => box.value === found.doc_id);
  if (known) return known.closest(".doc");
  const card = document.getElementById("found-card").content.firstElementChild.cloneNode(true);
  const box = card.querySelector("input"), number = boxes().length + 1;
  card.dataset.doc = box.value = found.doc_id;
  card.querySelector("b").textContent = found.title || found.doc_id;
  card.querySelector("bdi").textContent = found.title ? found.doc_id : "";
  pieces(card.querySelector(".passage"), found.snippet || []);
  const key = card.querySelector(".tick kbd");
  if (number < 10) key.textContent = box.dataset.key = String(number);
  else key.remove();
  document.getElementById("candidates").append(card);
  return card;
}

// ── what changes, and what is kept ───────────────────────────────────────────────────────────────
if (form) {
  const choice = (field) => ["checkbox", "radio"].includes(field.type);
  const fields = () => [...form.elements].filter((field) => ["doc", "grade", "note", "why"].includes(field.name));
  const saved = form.hasAttribute("data-given") ? null : JSON.parse(sessionStorage.getItem(`draft ${item}`));
  for (const found of saved?.found || []) addCard(found);
  for (const field of saved ? fields() : []) {
    const value = saved[choice(field) ? `${field.name} ${field.value}` : field.name];
    if (value !== undefined) field[choice(field) ? "checked" : "value"] = value;
  }
  const said = form.querySelector(".changes");
  const tell = () => {
    const removed = boxes().filter((box) => inRow(box) && !box.checked).map(titleOf);
    const added = boxes().filter((box) => !inRow(box) && box.checked).map(titleOf);
    const changed = removed.length || added.length || form.elements.note?.value.trim();
    if (form.querySelector(".changed")) {
      form.querySelector(".plain").hidden = Boolean(changed);
      form.querySelector(".changed").hidden = !changed;
    }
    if (!said) return;
    const lines = [];
    if (removed.length) lines.push(`${said.dataset.removes} ${removed.join(" · ")}`);
    if (added.length) lines.push(`${said.dataset.adds} ${added.join(" · ")}`);
    said.textContent = lines.join("\n") || said.dataset.keeps;
  };
  document.addEventListener("input", (event) => {
    if (event.target.form !== form) return;
    const values = Object.fromEntries(fields().map((field) => choice(field) ? [`${field.name} ${field.value}`, field.checked] : [field.name, field.value]));
    const found = boxes().filter((box) => !inRow(box) && box.checked).map((box) => ({ doc_id: box.value, title: titleOf(box) }));
    sessionStorage.setItem(`draft ${item}`, JSON.stringify({ ...values, found }));
    tell();
  });
  tell();
  let sent = false, asking = null;  // the button that wants a reason first: Enter presses it again
  form.elements.why?.addEventListener("keydown", (event) => {
    if (event.key !== "Enter" || event.isComposing || !asking) return;
    event.preventDefault();
    form.requestSubmit(asking);
  });
  form.addEventListener("submit", (event) => {
    const needed = form.elements[event.submitter?.dataset.needs];
    if (needed && !needed.value.trim()) {
      event.preventDefault();
      needed.focus();
      needed.setAttribute("aria-invalid", "true");
      const help = document.getElementById(needed.getAttribute("aria-describedby"));
      Object.assign(help, { textContent: form.dataset.needsWhy, className: "warned", role: "alert" });
      document.querySelector(".told")?.remove();  // it was said of the item before
      asking = event.submitter;
      return;
    }
    if (sent) return event.preventDefault();  // a second press while the first is on its way
    sent = true;
    sessionStorage.setItem("submitted", item);
  });
  addEventListener("pageshow", () => { sent = false; });
}

// ── the document that is looked at ───────────────────────────────────────────────────────────────
let current = null;
function look(card, move) {
  if (!card) return;
  current?.classList.remove("current");
  current?.querySelector(".open-whole")?.removeAttribute("data-key");
  current = card;
  card.classList.add("current");
  card.querySelector(".open-whole")?.setAttribute("data-key", "f");
  if (!move) return;
  (card.querySelector("input:not(:disabled)") || card.querySelector(".open-whole"))?.focus({ preventScroll: true });
  card.scrollIntoView({ block: "start", behavior: "instant" });
}
const cards = () => [...document.querySelectorAll(".doc")];
look(document.querySelector(location.hash.startsWith("#doc-") ? location.hash : ".doc"));
document.addEventListener("focusin", (event) => look(event.target.closest(".doc")));
document.addEventListener("input", (event) => look(event.target.closest(".doc")));
document.getElementById("next-doc")?.addEventListener("click", () => look(cards()[(cards().indexOf(current) + 1) % cards().length], true));

document.addEventListener("click", async (event) => {
  const link = event.target.closest(".open-whole");
  if (!link || event.ctrlKey || event.metaKey) return;
  event.preventDefault();
  const card = link.closest(".doc"), whole = card.querySelector(".whole");
  if (!whole.hasChildNodes()) {
    const here = item || location.pathname.split("/").pop();
    try {
      const text = await assay.get(`/api/review/${here}/document?doc_id=${encodeURIComponent(card.dataset.doc)}`);
      if (text.language === "he") whole.dir = "rtl";
      for (const paragraph of text.paragraphs) {
        const p = document.createElement("p");
        p.dir = "auto";
        pieces(p, paragraph);
        whole.append(p);
      }
    } catch (error) {
      whole.textContent = error.message;
    }
  }
  whole.hidden = link.getAttribute("aria-expanded") === "true";
  link.setAttribute("aria-expanded", String(!whole.hidden));
  link.querySelector(".label").textContent = whole.hidden ? link.dataset.more : link.dataset.less;
});

// ── more documents ───────────────────────────────────────────────────────────────────────────────
document.getElementById("more")?.addEventListener("submit", async (event) => {
  event.preventDefault();
  const words = event.target.elements.q, none = document.getElementById("found-none"), failed = document.getElementById("found-failed");
  none.hidden = failed.hidden = true;
  if (!words.value.trim()) return;
  try {
    const found = await assay.get(`/api/review/${item}/search?q=${encodeURIComponent(words.value)}`);
    none.hidden = found.length > 0;
    const shown = found.map(addCard);
    if (shown.length) look(shown[0], true);
  } catch (error) {
    failed.textContent = error.message;
    failed.hidden = false;
  }
});

// ── the list ─────────────────────────────────────────────────────────────────────────────────────
for (const select of document.querySelectorAll("#filters select")) select.addEventListener("change", () => select.form.requestSubmit());
const bulk = document.getElementById("bulk");
bulk?.addEventListener("change", () => {  // nothing ticked is everything, and the button says so
  const [all, ticked] = bulk.querySelectorAll('[data-key="l"] > span');
  if (ticked) ticked.hidden = !(all.hidden = bulk.querySelector("input:checked") !== null);
});
