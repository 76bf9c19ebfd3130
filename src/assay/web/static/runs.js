// Watches a run that was started here: asks how far it is until it is over, then shows the result.
"use strict";
const watched = document.querySelector("[data-job]");
if (watched && ["waiting", "running"].includes(watched.dataset.state)) {
  const bar = document.getElementById("progress");
  const done = document.getElementById("done");
  const look = async () => {
    let wait = 700;
    try {
      const job = await assay.get(`/api/runs/jobs/${encodeURIComponent(watched.dataset.job)}`);
      if (job.state !== watched.dataset.state) return location.reload();
      if (bar) bar.value = job.done ?? 0;
      if (done) done.textContent = (job.done ?? 0).toLocaleString(document.documentElement.lang);
    } catch (error) {
      if (error.status === 404) return location.reload();
      wait = 3000; // the server is away: it is asked again
    }
    setTimeout(look, wait);
  };
  setTimeout(look, 400);
}
