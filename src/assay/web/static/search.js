// The search page and the page of a document: a box that grows, keys, short addresses. All of it works without this file.
"use strict";
const box = document.getElementById("q");
const form = document.getElementById("search");

function grow() {
  box.rows = 1;
  const line = parseFloat(getComputedStyle(box).lineHeight) || 24;
  const padding = 28;
  box.rows = Math.min(12, Math.max(1, Math.round((box.scrollHeight - padding) / line)));
}

if (box) {
  box.addEventListener("input", grow);
  grow();
  box.addEventListener("keydown", (event) => {
    if (event.key === "Enter" && !event.shiftKey && !event.isComposing) {
      event.preventDefault();
      form.requestSubmit();
    } else if (event.key === "ArrowDown" && box.selectionEnd === box.value.length) {
      move(1);
    }
  });
}
if (form) {
  form.addEventListener("submit", () => {
    // what is empty does not belong in an address that people share
    const empty = [...form.elements].filter((field) => field.name && !field.value.trim());
    empty.forEach((field) => { field.disabled = true; });
    setTimeout(() => empty.forEach((field) => { field.disabled = false; }), 0);
  });
  const corpus = document.getElementById("corpus");
  if (corpus) corpus.addEventListener("change", () => {
    // topics and laws of one corpus mean nothing in another
    for (const field of [...form.elements]) if (!["q", "corpus", ""].includes(field.name)) field.value = "";
    form.requestSubmit();
  });
}

function move(by) {
  const links = [...document.querySelectorAll("a.open")];
  if (!links.length) return;
  const at = links.findIndex((link) => link.closest("li").contains(document.activeElement));
  const next = links[at < 0 ? (by > 0 ? 0 : links.length - 1) : at + by];
  if (next) next.focus();
  else if (at === 0 && by < 0 && box) box.focus();
}

document.addEventListener("keydown", (event) => {
  if (event.target.matches("textarea, input, select") || event.ctrlKey || event.metaKey || event.altKey) return;
  const key = event.code.startsWith("Key") ? event.code.slice(3).toLowerCase() : event.key;
  if (key === "/" || event.code === "Slash") {
    event.preventDefault();
    if (box) { box.focus(); box.select(); } else location.assign("/search");
  } else if (key === "j" || key === "k") {
    event.preventDefault();
    move(key === "j" ? 1 : -1);
  }
});

// a moment of a section is shown where it stands, what is folded is printed
const placed = document.getElementById("here");
if (placed && !location.hash && placed.getBoundingClientRect().top > innerHeight) placed.scrollIntoView({ block: "center" });
addEventListener("beforeprint", () => document.querySelectorAll("details.whole").forEach((whole) => { whole.open = true; }));
