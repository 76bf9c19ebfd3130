// Documents that would settle a comparison: whoever begins with one is led through all of them (judge.js).
"use strict";
const listed = [...document.querySelectorAll(".tojudge a")].map(({ dataset }) => ({ set: dataset.set, query: dataset.query, doc: dataset.doc }));
const firstOf = ({ set, query }) => listed.findIndex(one => one.set === set && one.query === query);
const settling = [...listed].sort((one, other) => firstOf(one) - firstOf(other));  // one query after the other
for (const link of document.querySelectorAll("a.queued")) link.addEventListener("click", () => {
  const ofSet = settling.filter(({ set }) => set === (link.dataset.set ?? set));
  try { sessionStorage.setItem("assay.queue", JSON.stringify({ from: location.pathname + location.search, settling: ofSet })); } catch { return; /* then one goes on by query */ }
  const to = new URL(link.href);
  to.searchParams.set("queued", "1");  // who opens a document otherwise is not led on
  link.href = to;
});
