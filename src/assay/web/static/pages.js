// What all pages share: keys, the theme, and sending a change. Pages also work without this file.
"use strict";
const root = document.documentElement;
document.getElementById("theme").addEventListener("click", () => {
  const dark = root.dataset.theme === "dark" || (!root.dataset.theme && matchMedia("(prefers-color-scheme: dark)").matches);
  root.dataset.theme = dark ? "light" : "dark";
  try { localStorage.setItem("theme", root.dataset.theme); } catch { /* for this page only */ }
});

window.assay = {
  // The token that a change needs: forms carry it in a field.
  csrf: document.querySelector('meta[name="csrf"]').content,
  // Sends a value as JSON; answers with what came back. What was refused is an Error with `status`.
  async post(path, value, method = "POST") {
    const answer = await assay.fetch(path, {
      method,
      headers: { "content-type": "application/json", "x-csrf-token": assay.csrf },
      body: JSON.stringify(value ?? {}),
    });
    return assay.read(answer);
  },
  async get(path) {
    return assay.read(await assay.fetch(path, { headers: { accept: "application/json" } }));
  },
  async read(answer) {
    const said = await answer.json().catch(() => ({}));
    if (answer.ok) return said;
    throw Object.assign(new Error(said.error || answer.statusText), { status: answer.status, said });
  },
  // As `fetch`; without a connection an Error with `lost`, in the language of the page.
  async fetch(path, options) {
    try {
      return await fetch(path, options);
    } catch {
      throw Object.assign(new Error(document.getElementById("live").dataset.lost), { lost: true });
    }
  },
  // What `act` answers, which is tried until there is a connection, as long as it is wanted; `told` hears
  // what to say meanwhile.
  async arrived(act, wanted, told) {
    for (let wait = 500; ; wait = Math.min(wait * 2, 15000)) {
      try {
        return await act();
      } catch (error) {
        if (!error.lost || !wanted()) throw error;
        told(document.getElementById("live").dataset.waits);
        await new Promise((done) => {
          addEventListener("online", done, { once: true });
          setTimeout(done, wait * (0.5 + Math.random()));  // not all at once
        });
        if (!wanted()) throw error;
      }
    }
  },
  // Told to those who hear the page.
  say(text) { document.getElementById("live").textContent = text; },
};

document.addEventListener("keydown", (event) => {
  const typing = event.target.matches("textarea, input:not([type=checkbox], [type=radio])");
  if (typing && event.key === "Escape") return event.target.blur();
  if (typing || event.ctrlKey || event.metaKey || event.altKey) return;
  // By the key's place on the board as well, so that a Hebrew layout has the same keys.
  const letter = event.code.startsWith("Key") ? event.code.slice(3).toLowerCase() : event.key;
  const target = document.querySelector(`[data-key="${CSS.escape(letter)}"]`);
  if (!target) return;
  event.preventDefault();
  if (target.matches("input:not([type=checkbox], [type=radio])")) target.focus();
  else target.click();
});

document.querySelector("[data-print]")?.addEventListener("click", () => print());

// The second press of a double click takes the focus from nowhere: after a grade one is writing already,
// and what is typed must not act as keys.
document.addEventListener("mousedown", (event) => {
  if (event.detail > 1 && event.target.closest("button")) event.preventDefault();
});
