// Forms of the chair: sent as JSON through the API; what was refused is said beside the button.
"use strict";
for (const form of document.querySelectorAll("form[data-post]")) {
  form.addEventListener("submit", async (event) => {
    event.preventDefault();
    const told = form.querySelector(".told");
    const button = form.querySelector("button");
    button.disabled = true;
    try {
      const sent = Object.fromEntries(new FormData(form));
      if (form.dataset.queries) sent.queries = JSON.parse(form.dataset.queries);
      await assay.post(form.dataset.post, sent);
      told.textContent = document.getElementById("words").dataset.saved;
      assay.say(told.textContent);
      if (form.dataset.post !== "/api/issues") location.reload();
    } catch (error) {
      told.textContent = error.message;
    }
    button.disabled = false;
  });
}
