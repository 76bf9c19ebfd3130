// Judging by keys. A grade that lacks its reason is a draft, kept in this browser; everything else is a
// vote, given at once (votes.js). Nothing here knows what anybody else said.
"use strict";
const byId = id => document.getElementById(id);
const HISTORY = `assay.done.${desk.judge}`, UNDO = "assay.undo", SAID = "assay.said";
const IDLE = 300;  // seconds: a judge who does nothing for so long has left
const why = byId("why"), paper = byId("document");
const pairs = [...document.querySelectorAll(".strip .doc")].map(button => ({
  button, doc: button.dataset.doc, vote: button.dataset.vote,
  grade: button.dataset.grade === "" ? null : Number(button.dataset.grade), rationale: button.dataset.rationale,
}));
let progress = JSON.parse(desk.progress);
let place = -1, chosen = null, shownAt = 0;
let isTyped = false;  // whether the reason in the field was written while this document was open
const texts = new Map();

// ── what is kept in this browser ─────────────────────────────────────────────────────────────────

function keepDraft() {
  const pair = pairs[place];
  if (!pair) return;
  const text = why.value.trim();
  const same = chosen === (pair.vote ? pair.grade : null) && text === pair.rationale;
  store(localStorage, DRAFT + pair.doc, same || (chosen === null && !text) ? null : { grade: chosen, rationale: why.value, seen: pair.seen });
}

// ── showing ──────────────────────────────────────────────────────────────────────────────────────

const isJudged = pair => Boolean(pair.vote);
const fill = (text, facts) => text.replace(/\{(\w+)\}/g, (_, name) => facts[name]);

function showStrip() {
  pairs.forEach((pair, at) => {
    const graded = isJudged(pair) ? (pair.grade === null ? "?" : String(pair.grade)) : "";
    pair.button.className = `doc ${graded === "" || graded === "?" ? "gq" : `g${Math.min(pair.grade, 2)}`}${at === place ? " cur" : ""}`;
    pair.button.textContent = at + 1;  // its place stays; the grade is a mark at the corner
    if (graded) pair.button.append(reading.make("span", graded, "given"));
    pair.button.setAttribute("aria-label", `${at + 1}: ${graded === "?" ? words.unsure : graded ? fill(words.gradeGiven, { grade: graded }) : "–"}`);
    pair.button.toggleAttribute("aria-current", at === place);
  });
  byId("done").hidden = !pairs.length || !pairs.every(isJudged);
  const unsure = pairs.filter(pair => pair.vote && pair.grade === null).length;
  const all = unsure ? fill(words.allDoneUnsure, { n: unsure }) : desk.after ? words.allDone : "";
  byId("donetext").textContent = `${all} ${desk.after ? "" : words.lastOne}`.trim();
}

function showPanel() {
  const pair = pairs[place];
  for (const button of document.querySelectorAll(".grade")) {
    const on = chosen !== null && Number(button.dataset.grade) === chosen;
    button.setAttribute("aria-pressed", String(on));
  }
  for (const button of document.querySelectorAll(".start")) button.hidden = chosen === null || Number(button.dataset.for) !== chosen;
  document.querySelector('[data-act="unsure"]').setAttribute("aria-pressed", String(Boolean(pair && pair.vote && pair.grade === null)));
  why.removeAttribute("aria-invalid");
  byId("state").classList.remove("warned");
  byId("save").hidden = chosen === null || (pair && pair.vote && pair.grade === chosen && pair.rationale === why.value.trim());
  byId("thumbsave").hidden = byId("save").hidden;
}

function line(done, text) {  // done is null for what is nobody's task
  const item = document.createElement("li");
  item.className = done ? "ok" : "open";
  item.textContent = `${done === null ? "·" : done ? "✓" : "○"} ${text}`;
  return item;
}

function showProgress() {
  const p = progress, list = [];
  byId("count").textContent = fill(words.judgedOfYours, { judged: p.judged, asked: p.asked }) + (p.unsure ? ` · ${words.unsure}: ${p.unsure}` : "");
  const some = p.judged_by_anybody, left = p.min_judged - some;
  if (p.min_judged) {
    const mine = left <= 0 && p.judged < p.asked;  // enough of others', and yet this judge is asked
    const said = fill(mine ? words.yoursToo : left <= 0 ? words.enoughJudged : some ? words.moreTo : words.wanted, { n: some, some, of: p.min_judged });
    list.push(line(left <= 0 && !mine, p.pooled < p.min_judged && left > 0 ? `${said}; ${fill(words.shortOf, { n: p.pooled })}` : said));
  }
  if (p.min_high) {
    const top = Math.max(...[...document.querySelectorAll(".grade")].map(button => Number(button.dataset.grade)));
    const grade = p.high_from < top ? fill(words.orMore, { grade: p.high_from }) : p.high_from;
    // how many are expected is not said: each document is graded alone. A flag is for who has seen them all
    const none = p.judged >= p.asked && p.asked ? words.highNone : words.highNotYet;
    list.push(line(Boolean(p.high), fill(p.high ? words.highSome : none, { n: p.high, grade })));
  }
  if (p.judged) list.push(line(!p.without_reason, p.without_reason ? fill(words.reasonsMissing, { n: p.without_reason }) : words.reasonsAll));
  if (p.again) list.push(line(null, p.again === 1 ? words.againOne : fill(words.againMany, { n: p.again })));
  byId("checklist").replaceChildren(...list);
  byId("flag").setAttribute("aria-pressed", String(Boolean(p.flag)));
  byId("flag").querySelector("span").textContent = p.flag ? words.flagOff : byId("flag").dataset.word;
}
byId("flag").dataset.word = byId("flag").querySelector("span").textContent;

function textOf(doc) {
  if (!texts.has(doc)) {
    const asked = new URLSearchParams({ set: desk.set, query: desk.query, doc });
    const coming = assay.get(`/api/judge/document?${asked}`);
    coming.catch(() => texts.delete(doc));  // asked for again the next time
    texts.set(doc, coming);
  }
  return texts.get(doc);
}

const arrivedText = (doc, wanted) => assay.arrived(() => textOf(doc), wanted, said => paper.replaceChildren(reading.make("p", said, "said")));

// Every document is a place in the browser's history: back leads to the one before.
async function show(at, isBack = false) {
  if (!pairs[at]) return;
  if (place >= 0) keepDraft();
  if (at !== place) closeGuide();
  atGrades();
  if (!votes.waiting().length) byId("state").textContent = "";
  votes.stay();
  const address = `${location.pathname}?doc=${encodeURIComponent(pairs[at].doc)}${tail}`;
  if (!isBack) history[place < 0 || place === at ? "replaceState" : "pushState"](null, "", address);
  place = at;
  const pair = pairs[at], draft = stored(localStorage, DRAFT + pair.doc, null);
  chosen = draft ? draft.grade : isJudged(pair) ? pair.grade : null;
  why.value = draft ? draft.rationale : pair.rationale;
  isTyped = false;
  pair.seen = draft?.seen ?? pair.vote;  // what the judge knows of when they vote
  shownAt = performance.now();
  reading.whole = false;
  showStrip();
  showPanel();
  showQueue();
  paper.setAttribute("aria-busy", "true");
  try {
    const read = await arrivedText(pair.doc, () => pairs[place] === pair);
    if (pairs[place] !== pair) return;
    reading.show(paper, read);
    pair.print = read.row.document;
    pair.title = read.row.title;
    scrollTo({ top: 0 });
  } catch (error) {
    if (pairs[place] === pair) paper.replaceChildren(reading.make("p", error.message, "said"));
  }
  const after = pairs[at + 1];
  if (after) textOf(after.doc).catch(() => {});
}

const atGrades = () => { document.querySelector(".panel").scrollTop = 0; };  // all grades are in sight

function closeGuide() {
  if (!byId("guide").open) return false;
  byId("guide").open = false;
  atGrades();
  return true;
}

// ── judging ──────────────────────────────────────────────────────────────────────────────────────

function give(pair, said, isUndo = false) {
  const before = { doc: pair.doc, query: desk.query, set: desk.set, vote: pair.vote, grade: pair.grade, rationale: pair.rationale, given: said.grade, title: pair.title || pair.doc };
  const seconds = Math.min((performance.now() - shownAt) / 1000, IDLE);
  const vote = votes.give({ doc_id: pair.doc, title: pair.title, document: pair.print || "", seconds, seen: pair.seen ?? pair.vote, ...said });
  Object.assign(pair, said.withdrawn ? { vote: "", grade: null, rationale: "" } : { vote: vote.id, grade: said.grade, rationale: said.rationale });
  pair.seen = pair.vote;
  store(localStorage, DRAFT + pair.doc, null);
  if (!isUndo) store(sessionStorage, HISTORY, [...stored(sessionStorage, HISTORY, []), before].slice(-200));
  showUndo();
  showStrip();
  return vote;
}
// Says what Z takes back before it does.
function showUndo() {
  const last = stored(sessionStorage, HISTORY, []).at(-1);
  byId("undoes").hidden = !last?.title;
  byId("undone").textContent = "";
  if (!last?.title) return;
  const isReason = last.vote && last.grade === last.given;
  const grade = isReason ? words.reasonGiven : last.given === null ? words.unsure : fill(words.gradeGiven, { grade: last.given });
  byId("undoes").textContent = fill(words.undoes, { grade, title: last.title });
  byId("undone").textContent = `: ${grade.toLowerCase()}`;  // on a phone, where there is no room for the title
}
const saidOf = new Map();  // votes of which more is said than that they are saved

function warn(text, isWrong = true) {
  byId("state").textContent = text;
  if (isWrong) why.setAttribute("aria-invalid", "true");
  byId("state").classList.toggle("warned", isWrong);
  assay.say(text);
  why.focus();
}

function save(pressed = false) {
  const pair = pairs[place], rationale = why.value.trim();
  if (!pair || chosen === null) return;
  if (tooLong(rationale)) return warn(tooLong(rationale));
  const starts = [...document.querySelectorAll(".start")].filter(start => Number(start.dataset.for) === chosen).map(start => start.dataset.text);
  if (desk.required && !saysWhy(rationale, starts) && !(pair.vote && pair.grade === chosen && pair.rationale === rationale)) {
    return warn(rationale && pressed ? words.weakReason : words.needsReason, pressed);
  }
  const grade = chosen;
  why.blur();
  give(pair, { grade, rationale });
  assay.say(fill(words.gradeGiven, { grade }));
  onward();
}

// The place of what is shown among the documents that would settle a comparison (queue.js), or -1. They
// are gone through only by who came by them.
const tail = new URLSearchParams(location.search).has("queued") ? "&queued=1" : "", none = { from: "", settling: [] };
const queue = tail ? stored(sessionStorage, "assay.queue", none) : none;
const queued = () => queue.settling.findIndex(one => one.set === desk.set && one.query === desk.query && one.doc === (pairs[place]?.doc ?? desk.open));

function showQueue() {
  const at = queued();
  byId("queued").hidden = at < 0;
  byId("queued").textContent = fill(words.queuedOf, { place: at + 1, total: queue.settling.length });
}

function goTo(one, before) {
  const at = one.set === desk.set && one.query === desk.query ? pairs.findIndex(pair => pair.doc === one.doc) : -1;
  return at >= 0 ? show(at) : votes.leave(addressOf(one) + tail, before);
}

function followQueue(at) {
  const next = queue.settling[at + 1];
  if (next) return goTo(next, () => store(sessionStorage, SAID, byId("state").textContent));  // is said on the page that opens
  const back = reading.make("a", words.queuedBack, "button plain");
  back.href = queue.from;
  byId("queued").replaceChildren(`${words.queuedDone} `, ...(desk.chair ? [againForm()] : [`${words.queuedChair} `]), back);
  store(sessionStorage, "assay.queue", null);
  queue.settling = [];
  showPanel();
}

// Counts what was judged, runs again what needs it, and goes back to the question.
function againForm() {
  const form = reading.make("form", "", "inline");
  form.method = "post";
  form.action = "/runs/again";
  for (const [name, value] of Object.entries({ csrf: assay.csrf, set: desk.set, back: queue.from })) {
    const field = reading.make("input");
    Object.assign(field, { type: "hidden", name, value });
    form.append(field);
  }
  form.append(reading.make("button", words.countAndRunAll, "approve"));
  form.addEventListener("submit", async (event) => {  // what was given last must be on disk first
    event.preventDefault();
    for (let tries = 0; votes.waiting().length && tries < 100; tries++) await new Promise(done => setTimeout(done, 50));
    form.submit();
  });
  return form;
}

function onward() {
  const at = queued();
  if (at >= 0 && isJudged(pairs[place])) return followQueue(at);
  const order = [...pairs.keys()], next = [...order.slice(place + 1), ...order.slice(0, place)].find(at => !isJudged(pairs[at]));
  if (next !== undefined) return show(next);
  chosen = pairs[place].vote ? pairs[place].grade : null;
  showPanel();
  if (pairs.every(isJudged)) { assay.say(byId("donetext").textContent); byId("done").scrollIntoView({ block: "nearest" }); }
}

// Among the documents that would settle a comparison where one reads those, else among the query's.
function move(by) {
  const at = queued();
  if (at < 0) return show(Math.min(Math.max(place + by, 0), pairs.length - 1));
  votes.stay();
  if (queue.settling[at + by]) goTo(queue.settling[at + by]);
}

const acts = {
  next() { move(1); },
  previous() { move(-1); },
  unsure() {
    if (!pairs[place]) return;
    if (tooLong(why.value.trim())) return warn(tooLong(why.value.trim()));
    saidOf.set(give(pairs[place], { grade: null, rationale: why.value.trim() }).id, words.unsureSaid);
    assay.say(words.unsureSaid);
    onward();
  },
  skip() {
    if (!pairs[place]) return;
    assay.say(words.skipped);
    if (queued() >= 0) {
      byId("state").textContent = words.skipped;
      return followQueue(queued());
    }
    const order = [...pairs.keys()], next = [...order.slice(place + 1), ...order.slice(0, place)].find(at => !isJudged(pairs[at]));
    show(next ?? Math.min(place + 1, pairs.length - 1));
  },
  undo() {
    const done = stored(sessionStorage, HISTORY, []), last = done.pop();
    if (!last) { byId("state").textContent = words.nothingToUndo; return; }
    if (last.set !== desk.set || last.query !== desk.query) {  // it was on another query, where it is undone
      return goTo(last, () => store(sessionStorage, UNDO, true));
    }
    store(sessionStorage, HISTORY, done);
    const at = pairs.findIndex(pair => pair.doc === last.doc);
    if (at < 0) return;
    const said = last.vote ? words.restored : words.withdrawnSaid;
    const typed = pairs[at].rationale;  // it is kept, unless the earlier vote had a reason of its own
    saidOf.set(give(pairs[at], last.vote ? { grade: last.grade, rationale: last.rationale } : { grade: null, rationale: "", withdrawn: true }, true).id, said);
    place = -1;
    if (typed && !last.rationale) store(localStorage, DRAFT + last.doc, { grade: last.vote ? last.grade : null, rationale: typed, seen: pairs[at].vote });
    show(at);
    assay.say(said);
  },
  why() { why.focus(); },
  guide() { if (!closeGuide()) { byId("guide").open = true; byId("guide").scrollIntoView({ block: "nearest" }); } },
  help() { byId("help").showModal(); byId("help").scrollTop = 0; },
  add() { byId("add").showModal(); byId("look").focus(); byId("look").select(); },
};
for (const button of document.querySelectorAll("[data-act]")) button.addEventListener("click", (event) => {
  if (event.detail < 2) acts[button.dataset.act]();  // the second click of two is nobody's wish
});
for (const button of document.querySelectorAll(".grade")) button.addEventListener("click", (event) => {
  if (event.detail > 1 || !pairs[place]) return;
  chosen = Number(button.dataset.grade);
  keepDraft();
  showPanel();
  if (desk.required && why.value.trim() && !isTyped) { why.focus(); why.select(); }  // another grade, another reason
  else save();
});
for (const pair of pairs) pair.button.addEventListener("click", () => show(pairs.indexOf(pair)));
byId("save").addEventListener("click", () => save(true));
byId("thumbsave").addEventListener("click", () => save(true));
why.addEventListener("input", () => { isTyped = true; keepDraft(); showPanel(); });
why.addEventListener("keydown", (event) => {
  if (event.key === "Enter" && !event.shiftKey && !event.isComposing) {
    event.preventDefault();
    if (chosen !== null) save(true);
    else { keepDraft(); why.blur(); }
  }
});
function begin(button) {
  const text = button.dataset.text;
  why.setRangeText(text, why.selectionStart, why.selectionEnd, "end");
  isTyped = true;
  why.focus();
  keepDraft();
  showPanel();
}
for (const button of document.querySelectorAll(".start")) button.addEventListener("click", (event) => { if (event.detail < 2) begin(button); });

addEventListener("keydown", (event) => {
  // a key that is held down grades one document, not ten
  if (event.repeat && !event.target.matches("textarea, input") && !/^Arrow|^Page|^Key[JK]$/.test(event.code)) {
    event.preventDefault();
    return event.stopImmediatePropagation();
  }
  const start = event.altKey && /^Digit[1-9]$/.test(event.code) && [...document.querySelectorAll(".start:not([hidden])")][event.code.slice(5) - 1];
  if (start) { event.preventDefault(); return begin(start); }
  const typing = event.target.matches("textarea, input");
  const asks = document.querySelector("dialog[open]");
  if (asks && !typing && event.key !== "Escape" && event.key !== "Enter" && event.key !== "Tab" && !event.key.startsWith("Arrow")) return event.stopImmediatePropagation();
  if (event.key === "Escape" && !typing && !asks) closeGuide();
  if (typing || asks || event.ctrlKey || event.metaKey || event.altKey) return;
  if (event.key === "Enter" && event.target === document.body && chosen !== null && !byId("save").hidden) { event.preventDefault(); save(true); }
  else if (event.key === "Enter" && event.target === document.body && !byId("done").hidden) { event.preventDefault(); byId("onward").click(); }
  // by its place, for boards on which it writes something else
  if (event.code === "Slash" && !["/", "?"].includes(event.key)) { event.preventDefault(); event.shiftKey ? acts.help() : acts.add(); }
}, { capture: true });

// ── a document to add ────────────────────────────────────────────────────────────────────────────

for (const button of document.querySelectorAll("[data-close]")) button.addEventListener("click", () => button.closest("dialog").close());
byId("lookfor").addEventListener("submit", async (event) => {
  event.preventDefault();
  const q = byId("look").value.trim();
  if (!q) return;
  byId("looked").textContent = words.searching;
  try {
    const looks = () => assay.get(`/api/judge/search?${new URLSearchParams({ set: desk.set, query: desk.query, q })}`);
    const wanted = () => byId("add").open && byId("look").value.trim() === q;
    const found = await assay.arrived(looks, wanted, said => { byId("looked").textContent = said; });
    if (!wanted()) return;
    byId("looked").textContent = found.length ? "" : words.nothingFound;
    byId("found").replaceChildren(...found.map(foundItem));
    const first = byId("found").querySelector("button");
    if (first) first.focus();
  } catch (error) {
    byId("looked").textContent = error.message;
  }
});
// Asks for a document to be judged here, and opens it.
async function add(doc, button, told) {
  button.disabled = true;
  try {
    const asks = () => assay.post("/api/pool", { set: desk.set, query_id: desk.query, doc_id: doc });
    await assay.arrived(asks, () => button.offsetParent, said => { told.textContent = said; });
    location.assign(`${location.pathname}?doc=${encodeURIComponent(doc)}${tail}`);
    return true;
  } catch (error) {
    told.textContent = error.message;
    button.disabled = false;
    return false;
  }
}
// A document that a comparison names, and that nobody is asked about yet.
async function showUnasked(doc) {
  showStrip();
  try {
    reading.show(paper, await arrivedText(doc, () => place < 0));
    const line = reading.make("p", `${words.notAsked} `, "said note"), button = reading.make("button", words.askForIt, "approve");
    button.type = "button";
    button.onclick = () => add(doc, button, byId("state"));
    line.append(button);
    paper.prepend(line);
  } catch (error) { paper.replaceChildren(reading.make("p", error.message, "said")); }
  paper.setAttribute("aria-busy", "false");
}
function foundItem(hit) {
  const item = reading.make("li"), button = reading.make("button", "", "quiet hit");
  button.type = "button";
  const title = reading.make("b", hit.title || hit.doc_id), text = reading.make("span", hit.text, "small");
  title.dir = text.dir = "auto";
  const here = pairs.findIndex(pair => pair.doc === hit.doc_id);
  button.append(title, text);
  if (here >= 0) button.append(reading.make("span", words.inPool, "chip"));
  button.onclick = async () => {
    if (here >= 0) { byId("add").close(); return show(here); }
    if (await add(hit.doc_id, button, byId("looked"))) byId("looked").textContent = words.added;
  };
  item.append(button);
  return item;
}
byId("found").addEventListener("keydown", (event) => {
  const step = { ArrowDown: 1, ArrowUp: -1 }[event.key];
  if (!step) return;
  event.preventDefault();
  const buttons = [...byId("found").querySelectorAll("button")];
  (buttons[buttons.indexOf(document.activeElement) + step] || byId("look")).focus();
});

// ── a flag ───────────────────────────────────────────────────────────────────────────────────────

async function flag(flagged, reason) {
  try {
    const stands = await assay.post("/api/flags", { set: desk.set, query_id: desk.query, flagged, reason });
    progress = { ...progress, flag: stands };
    byId("state").textContent = flagged ? words.flagSaid : words.flagOffSaid;
    assay.say(byId("state").textContent);
    showProgress();
    atGrades();
    return true;
  } catch (error) {
    byId("state").textContent = error.message;
    return false;
  }
}
byId("flag").addEventListener("click", () => {
  if (progress.flag) return flag(false, "");
  byId("flagform").hidden = !byId("flagform").hidden;
  byId("flag").setAttribute("aria-expanded", String(!byId("flagform").hidden));
  byId("state").textContent = "";
  if (!byId("flagform").hidden) byId("flagwhy").focus();
});
byId("flagform").addEventListener("submit", async (event) => {
  event.preventDefault();
  const field = byId("flagwhy"), reason = field.value.trim(), long = tooLong(reason);
  byId("flagtold").textContent = long;
  if (long || !(await flag(true, reason))) return field.focus();  // what was not taken is not lost
  byId("flagform").hidden = true;
  byId("flag").setAttribute("aria-expanded", "false");
  field.value = "";
});

// ── what the server says ─────────────────────────────────────────────────────────────────────────

votes.listeners.push((vote, saved, refused, overtaken) => {
  if (saved && saved.progress && vote.query_id === desk.query && vote.set === desk.set) {
    const more = saved.progress.judged - progress.judged;
    progress = { ...saved.progress, flag: progress.flag };
    showProgress();
    showSet(more);
  }
  if (saved && saidOf.has(vote.id)) byId("state").textContent = saidOf.get(vote.id);
  else if (saved && desk.wanted && vote.grade !== null && !vote.rationale) offerReason(vote);
  if (refused || overtaken || (saved && !saved.holds)) sync();
});

// A grade is saved at once where a reason is only wanted: leads back to write it.
function offerReason(vote) {
  const at = pairs.findIndex(pair => pair.doc === vote.doc_id);
  if (at < 0 || at === place || vote.set !== desk.set || vote.query_id !== desk.query) return;
  const button = reading.make("button", words.addReason, "quiet");
  button.type = "button";
  button.onclick = async () => { await show(at); why.focus(); };
  byId("state").append(" ", button);
}

// What the page says of the whole set, beside the queries and at the top.
function showSet(more) {
  const row = document.querySelector(".list a[aria-current] progress"), all = byId("setcount"), pill = byId("waits");
  if (row) Object.assign(row, { max: progress.asked || 1, value: progress.judged });
  if (all) {
    all.dataset.judged = Number(all.dataset.judged) + more;
    all.textContent = fill(words.judgedOf, all.dataset);
  }
  if (!pill) return;
  pill.dataset.n = Math.max(Number(pill.dataset.n) - more, 0);
  pill.textContent = pill.textContent.replace(/\d[\d.,\u00a0\u202f]*/, Number(pill.dataset.n).toLocaleString(document.documentElement.lang));
  pill.hidden = pill.dataset.n === "0";
}

async function sync() {
  try {
    const now = await assay.get(`/api/judge/query?${new URLSearchParams({ set: desk.set, query: desk.query })}`);
    const waiting = new Set(votes.waiting().map(vote => vote.doc_id));
    for (const known of now.pairs) {
      const pair = pairs.find(each => each.doc === known.doc_id);
      if (pair && !waiting.has(pair.doc)) Object.assign(pair, { vote: known.vote, grade: known.grade, rationale: known.rationale });
    }
    progress = now.progress;
    showProgress();
    showStrip();
    const pair = pairs[place];
    if (pair && document.activeElement !== why && !stored(localStorage, DRAFT + pair.doc, null)) {
      chosen = pair.vote ? pair.grade : null;
      why.value = pair.rationale;
      pair.seen = pair.vote;
      showPanel();
    }
  } catch { /* the next time */ }
}
addEventListener("focus", sync);
addEventListener("popstate", () => {
  const doc = new URLSearchParams(location.search).get("doc");
  show(pairs.findIndex(pair => pair.doc === doc), true);
});
addEventListener("pageshow", (event) => { if (event.persisted) sync(); });

// what this browser has not been able to send yet is what the judge said last
for (const vote of votes.waiting()) {
  const pair = vote.set === desk.set && vote.query_id === desk.query && pairs.find(each => each.doc === vote.doc_id);
  if (pair) Object.assign(pair, vote.withdrawn ? { vote: "", grade: null, rationale: "" } : { vote: vote.id, grade: vote.grade, rationale: vote.rationale });
}
document.querySelector(".list [aria-current]")?.scrollIntoView({ block: "nearest" });
showProgress();
showUndo();
const asked = pairs.findIndex(pair => pair.doc === desk.open), open = [pair => !isJudged(pair), pair => pair.grade === null].map(is => pairs.findIndex(is)).find(at => at >= 0) ?? 0;
if (desk.open && asked < 0) showUnasked(desk.open);
else if (pairs.length) show(asked >= 0 ? asked : open);
const undoes = stored(sessionStorage, UNDO, false), latest = stored(sessionStorage, HISTORY, []).at(-1);
store(sessionStorage, UNDO, null);
byId("state").textContent ||= stored(sessionStorage, SAID, "");  // of the document before
store(sessionStorage, SAID, null);
if (undoes && latest?.set === desk.set && latest.query === desk.query) acts.undo();
