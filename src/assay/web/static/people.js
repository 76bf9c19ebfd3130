// Copying a link. Everything also works without this file.
"use strict";
for (const button of document.querySelectorAll("[data-copy]")) {
  if (!navigator.clipboard) continue;
  button.hidden = false;
  button.addEventListener("click", async () => {
    const from = document.getElementById(button.dataset.copy);
    await navigator.clipboard.writeText(from.value ?? from.textContent);
    button.textContent = button.dataset.done;
    assay.say(button.dataset.done);
  });
}
for (const made of document.querySelectorAll(".made input")) made.select();
