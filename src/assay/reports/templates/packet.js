"use strict";
const byId = id => document.getElementById(id);
const packet = JSON.parse(byId("packet").textContent);
const { rows, queries, documents, rubric } = packet;
/* A sentence of the page in its language, with its facts. */
const told = (key, facts = {}) => packet.words[key].replace(/\{(\w+)\}/g, (_, name) => facts[name]);
const number = n => n.toLocaleString(document.documentElement.lang);
const KEPT = "assay-packet-" + packet.id;
const IDLE = 5 * 60 * 1000;  // a judge who does nothing for so long has left
const WORD = /[\p{L}\p{N}\p{M}]+(?:["'״׳’][\p{L}\p{N}\p{M}]+)*/gu;
const SHORT = 220;  // words: a text so short is shown at once

// ── what is known ────────────────────────────────────────────────────────────────────────────────

const blank = () => ({ grade: null, unsure: false, rationale: "", seconds: 0, at: "", saved: true });
let votes = rows.map(blank);
let place = 0;
let judge = packet.judge;
let keeps = true;

const isJudged = vote => vote.unsure || vote.grade !== null;
const lacksReason = vote => rubric.required && vote.grade !== null && !vote.rationale.trim();
const isTooLong = vote => vote.rationale.trim().length > rubric.longest;  // it is never cut
const isDone = vote => isJudged(vote) && !lacksReason(vote) && !isTooLong(vote);
const hasWords = vote => isJudged(vote) || vote.rationale.trim() !== "";
const count = test => votes.filter(test).length;
const ofQuery = query => rows.flatMap((row, i) => row.query === query ? [i] : []);
const typeName = type => packet.words[`type ${type}`] || type.replaceAll("_", " ");
const gradeOf = value => rubric.grades.find(grade => grade.value === value);

function keep() {
  try {
    localStorage.setItem(KEPT, JSON.stringify({ place, judge, votes }));
  } catch {
    if (keeps) say(told("keeps_nothing"), true);
    keeps = false;
  }
}

function restore() {
  try {
    const kept = JSON.parse(localStorage.getItem(KEPT));
    if (!kept || !Array.isArray(kept.votes)) return 0;
    if (kept.votes.length === rows.length) votes = kept.votes.map(vote => ({ ...blank(), ...vote }));
    if (!packet.judge && typeof kept.judge === "string") judge = kept.judge;
    if (rows[kept.place]) place = kept.place;
    return count(isJudged);
  } catch {
    return 0;  // what cannot be read is as good as not there
  }
}

function changed(vote) {
  Object.assign(votes[place], vote, { at: new Date().toISOString(), saved: false });
  keep();
}

// ── the time taken: while the page is in view and somebody is there ──────────────────────────────

let since = performance.now(), lastInput = since, counting = !document.hidden;

function tick() {
  const now = performance.now();
  if (counting) votes[place].seconds += (now - since) / 1000;
  since = now;
  counting = !document.hidden && now - lastInput < IDLE;
}
setInterval(tick, 1000);
for (const kind of ["keydown", "pointerdown", "pointermove", "wheel", "touchstart"])
  addEventListener(kind, () => { lastInput = performance.now(); }, { passive: true, capture: true });
document.addEventListener("visibilitychange", () => { tick(); keep(); });
addEventListener("pagehide", () => { tick(); keep(); });

// ── showing ──────────────────────────────────────────────────────────────────────────────────────

let silence = 0;
function say(message, bad = false) {
  clearTimeout(silence);
  byId("status").textContent = message;
  byId("status").classList.toggle("bad", bad);
  silence = setTimeout(() => { byId("status").textContent = ""; }, bad ? 12000 : 5000);
}

function make(name, text, kind) {
  const element = document.createElement(name);
  if (text !== undefined) element.textContent = text;
  if (kind) element.className = kind;
  return element;
}

/* Texts are put in as text, never as markup. */
function fill(element, text, words) {
  element.replaceChildren();
  let done = 0;
  for (const found of text.matchAll(WORD)) {
    if (!words.has(found[0].toLowerCase())) continue;
    element.append(text.slice(done, found.index), make("mark", found[0]));
    done = found.index + found[0].length;
  }
  element.append(text.slice(done));
  return element;
}

/* Scans break their lines where the paper ended: a long line goes on in the next, unless that begins
   a paragraph or an item. */
function flow(text) {
  const lines = text.split(/\r?\n/);
  return lines.map((line, i) => {
    const next = lines[i + 1];
    if (next === undefined) return line;
    const goesOn = line.trim().length >= 60 && next.trim() && !/^\s*(?:\d{1,2}[.)]|\(\w{1,2}\)|[-•*])\s/.test(next);
    return line + (goesOn ? " " : "\n");
  }).join("");
}

function part(heading, texts, words, kind = "") {
  if (!texts.length) return [];
  return [make("h3", heading), ...texts.map(text => {
    const block = fill(make("p", undefined, kind), flow(text), words);
    block.dir = "auto";
    return block;
  })];
}

function showPair() {
  const row = rows[place], query = queries[row.query], paper = documents[row.document];
  const words = new Set(row.words), mine = ofQuery(row.query);
  byId("about").replaceChildren();
  if (query.type) byId("about").append(make("span", typeName(query.type), "chip"));
  byId("about").append(told("about", { query: row.query + 1, queries: queries.length, place: mine.indexOf(place) + 1, total: mine.length }));
  byId("query").textContent = query.text;
  fill(byId("title"), paper.title || paper.id, words);
  byId("doc-id").textContent = paper.title ? paper.id : "";
  const isShort = paper.length <= SHORT, hasParts = paper.question || paper.conclusion;
  const parts = [
    ...part(told("question"), [paper.question].filter(Boolean), words),
    ...part(told("conclusion"), [paper.conclusion].filter(Boolean), words),
  ];
  if (!isShort || hasParts) parts.push(...part(told("passages"), row.passages, words, "passage"));
  if (!row.passages.length && !isShort)
    parts.push(make("p", told("no_word"), "small"));
  byId("parts").replaceChildren(...parts);
  showFull(isShort && !hasParts);
  showVotes();
}

function showFull(open) {
  const row = rows[place], paper = documents[row.document];
  byId("full").hidden = !open;
  byId("open-full").setAttribute("aria-expanded", String(open));
  byId("open-full").replaceChildren(
    `${open ? told("hide_full") : told("full", { n: number(paper.length) })} `, make("kbd", "f"));
  if (open) fill(byId("full"), flow(JSON.parse(byId("text-" + row.document).textContent)), new Set(row.words));
  else byId("full").replaceChildren();
}

function showVotes() {
  const vote = votes[place], row = rows[place], mine = ofQuery(row.query);
  const done = count(isDone), left = rows.length - done;
  byId("bar").max = rows.length;
  byId("bar").value = done;
  byId("count").textContent = told("progress", { done, all: rows.length, left });
  document.title = `${told("left", { left })} · ${packet.set} · Assay`;
  byId("strip").replaceChildren(...mine.map(stripButton));
  for (const button of byId("grades").children)
    button.setAttribute("aria-pressed", String(
      button.dataset.value === "unsure" ? vote.unsure : vote.grade !== null && Number(button.dataset.value) === vote.grade));
  if (byId("why").value !== vote.rationale) byId("why").value = vote.rationale;
  showAsk();
  const graded = rubric.grades.map(grade => [mine.filter(i => votes[i].grade === grade.value).length, grade]);
  byId("tally").textContent = [
    told("of_judged", { done: mine.filter(i => isDone(votes[i])).length, all: mine.length }),
    ...graded.map(([n, grade]) => told("n_with_grade", { n, grade: grade.value })),
  ].join(" · ");
  showQueries();
}

function stripButton(i, n) {
  const vote = votes[i], grade = gradeOf(vote.grade);
  const button = make("button", grade ? String(grade.value) : vote.unsure ? "?" : String(n + 1));
  button.type = "button";
  button.className = grade ? grade.level : vote.unsure ? "unsure" : "open";
  if (lacksReason(vote)) button.classList.add("lacks");
  const said = grade ? told(lacksReason(vote) ? "grade_bare" : "grade_n", { grade: grade.value }) : told(vote.unsure ? "unsure" : "not_judged");
  button.title = button.ariaLabel = `${n + 1}: ${said}`;
  button.setAttribute("aria-current", String(i === place));
  button.onclick = () => go(i);
  return button;
}

function showAsk() {
  const vote = votes[place], isLast = isDone(vote) && !votes.some(other => !isDone(other));
  byId("ask").hidden = !lacksReason(vote) && !isTooLong(vote) && !isLast;
  byId("ask").classList.toggle("done", isLast);
  byId("ask").textContent = isLast
    ? told("all_judged")
    : isTooLong(vote)
      ? told("too_long", { n: vote.rationale.trim().length, most: rubric.longest })
      : told("say_why", { grade: vote.grade });
}

function showQueries() {
  const current = rows[place].query;
  [...byId("queries").children].forEach((button, query) => {
    const mine = ofQuery(query), done = mine.filter(i => isDone(votes[i])).length;
    button.setAttribute("aria-current", String(query === current));
    button.querySelector(".small").textContent = [typeName(queries[query].type), told("of_judged", { done, all: mine.length })].filter(Boolean).join(" · ");
    button.querySelector("progress").value = done / mine.length;
  });
}

// ── judging ──────────────────────────────────────────────────────────────────────────────────────

function go(to) {
  if (to < 0 || to >= rows.length) return say(told(to < 0 ? "first_one" : "last_one"));
  tick();
  const isOther = rows[to].query !== rows[place].query;
  place = to;
  keep();
  showPair();
  scrollTo({ top: 0, behavior: "instant" });
  byId("document").focus({ preventScroll: true });
  if (isOther) say(told("another_query"));
}

function goToNext() {
  const order = rows.map((_, i) => (place + 1 + i) % rows.length);
  const next = order.find(i => !isDone(votes[i]));
  if (next === undefined) {
    byId("document").focus({ preventScroll: true });
    return say(told("all_judged_key"));
  }
  if (next === place) return lacksReason(votes[place]) || isTooLong(votes[place]) ? byId("why").focus() : say(told("only_this"));
  go(next);
}

function give(value) {
  changed(value === "unsure" ? { grade: null, unsure: true } : { grade: value, unsure: false });
  showVotes();
  if (lacksReason(votes[place])) byId("why").focus();
  else say(value === "unsure" ? told("unsure_given") : told("grade_given", { grade: value, label: gradeOf(value).label }));
}

function clear() {
  if (!isJudged(votes[place])) return;
  changed({ grade: null, unsure: false });
  showVotes();
  say(told("cleared"));
}

// ── files ────────────────────────────────────────────────────────────────────────────────────────

function savedRow(i) {
  const vote = votes[i], row = rows[i], paper = documents[row.document], judged = isJudged(vote);
  const saved = {
    query_id: queries[row.query].id, doc_id: paper.id, document: paper.fingerprint,
    grade: vote.grade, rationale: judged ? vote.rationale.trim() : "",
    seconds: Math.round(vote.seconds * 10) / 10, unsure: vote.unsure, at: vote.at,
    judge, rubric: rubric.version,
  };
  return judged ? saved : { ...saved, draft: vote.rationale };  // not a vote yet
}

function save() {
  tick();
  if (!judge.trim()) {
    byId("judge").focus();
    return say(told("who"), true);
  }
  const mine = votes.flatMap((vote, i) => hasWords(vote) ? [i] : []);
  if (!mine.length) return say(told("nothing_to_save"));
  const head = {
    packet: 1, id: packet.id, set: packet.set, judge,
    rubric: { id: rubric.id, version: rubric.version }, pairs: mine.length, of: rows.length,
  };
  const lines = [head, ...mine.map(savedRow)].map(line => JSON.stringify(line) + "\n");
  const link = make("a");
  link.href = URL.createObjectURL(new Blob(lines, { type: "application/x-ndjson" }));
  link.download = `packet-${judge.trim().replace(/[^\p{L}\p{N}._-]+/gu, "-")}.votes.jsonl`;
  link.click();
  setTimeout(() => URL.revokeObjectURL(link.href), 60000);
  for (const i of mine) votes[i].saved = true;
  keep();
  const lacking = count(lacksReason), left = rows.length - count(isDone);
  say(lacking
    ? told("saved_lacking", { n: lacking })
    : told("saved", { file: link.download, judged: count(isJudged), left }), lacking > 0);
}

async function load(file) {
  let read;
  try {
    read = (await file.text()).split("\n").filter(line => line.trim()).map(line => JSON.parse(line));
  } catch {
    return say(told("no_votes_file"), true);
  }
  const head = read.find(line => line && line.packet) || {};
  if (packet.judge && head.judge && head.judge !== packet.judge)
    return say(told("of_another", { other: head.judge, judge: packet.judge }), true);
  const places = new Map(rows.map((row, i) => [JSON.stringify([queries[row.query].id, documents[row.document].id]), i]));
  let taken = 0, older = 0, foreign = 0;
  for (const line of read) {
    if (!line || typeof line !== "object" || line.packet) continue;
    const i = places.get(JSON.stringify([line.query_id, line.doc_id]));
    const grade = line.grade ?? null;
    if (i === undefined || line.document !== documents[rows[i].document].fingerprint || (grade !== null && !gradeOf(grade))) {
      foreign += 1;
    } else if (hasWords(votes[i]) && votes[i].at > String(line.at || "")) {
      older += 1;
    } else {
      const rationale = String(line.rationale || line.draft || "");
      votes[i] = { grade, unsure: line.unsure === true, rationale, seconds: Number(line.seconds) || 0, at: String(line.at || ""), saved: true };
      taken += 1;
    }
  }
  if (!packet.judge && head.judge) showJudge(String(head.judge));
  keep();
  showPair();
  const others = [older && told("left_out_older", { n: older }), foreign && told("left_out_foreign", { n: foreign })];
  say([told("loaded", { n: taken }), ...others].filter(Boolean).join(" "), foreign > 0);
}

function showJudge(name) {
  judge = name;
  byId("judge").value = name;
}

// ── the side: rubric and queries ─────────────────────────────────────────────────────────────────

const isDrawer = () => getComputedStyle(byId("close-side")).display !== "none";

function openSide(name) {
  const same = !byId(name).hidden && byId("side").classList.contains("open");
  if (isDrawer() && same) return closeSide();
  for (const other of ["rubric", "queries"]) {
    byId(other).hidden = other !== name;
    byId("tab-" + other).setAttribute("aria-pressed", String(other === name));
  }
  byId("side").classList.add("open");
}

function closeSide() {
  byId("side").classList.remove("open");
  byId("document").focus({ preventScroll: true });
}

// ── keys ─────────────────────────────────────────────────────────────────────────────────────────

const KEYS = {
  j: [told("key_j"), () => go(place + 1)], k: [told("key_k"), () => go(place - 1)],
  n: [told("key_n"), goToNext],
  u: [told("key_u"), () => give("unsure")],
  z: [told("key_z"), clear],
  r: [told("key_r"), () => byId("why").focus()],
  f: [told("key_f"), toggleFull],
  g: [told("key_g"), () => openSide("rubric")], q: [told("key_q"), () => openSide("queries")],
  e: [told("key_e"), save], o: [told("key_o"), () => byId("file").click()],
  "?": [told("key_help"), () => byId("help").showModal()],
};
const ahead = document.documentElement.dir === "rtl" ? "ArrowLeft" : "ArrowRight";
const OTHER_NAMES = { ArrowRight: "k", ArrowLeft: "k", [ahead]: "j", Enter: "n" };

function toggleFull() {
  showFull(byId("full").hidden);
  if (byId("full").hidden) return;
  const under = Math.max(document.querySelector(".query").getBoundingClientRect().bottom, 0);
  scrollBy({ top: byId("open-full").getBoundingClientRect().top - under - 12, behavior: "instant" });
}

/* The letter on the key, also where the keyboard writes another script. */
function keyOf(event) {
  if (OTHER_NAMES[event.key]) return OTHER_NAMES[event.key];
  if (/^[\x20-\x7e]$/.test(event.key)) return event.key.toLowerCase();
  if (event.code === "Slash" && event.shiftKey) return "?";
  return /^Key[A-Z]$/.test(event.code) ? event.code[3].toLowerCase() : "";
}

addEventListener("keydown", event => {
  if ((event.ctrlKey || event.metaKey) && event.key === "s") {
    event.preventDefault();
    return save();
  }
  if (event.ctrlKey || event.metaKey || event.altKey || event.isComposing) return;
  if (byId("help").open) {
    if (event.key === "?") byId("help").close();
    return;
  }
  const target = event.target, isField = target.matches("textarea, input");
  if (event.key === "Escape") return isField ? byId("document").focus({ preventScroll: true }) : closeSide();
  if (isField) {
    if (event.key !== "Enter" || event.shiftKey) return;
    event.preventDefault();
    return target === byId("why") && isJudged(votes[place]) ? goToNext() : byId("document").focus({ preventScroll: true });
  }
  if (target.matches("button, summary") && event.key === "Enter") return;
  const grade = rubric.grades.find(one => one.key === event.key);
  const action = grade ? () => give(grade.value) : KEYS[keyOf(event)]?.[1];
  if (!action) return;
  event.preventDefault();
  action();
});

addEventListener("beforeunload", event => {
  tick();
  if (votes.some(vote => !vote.saved && hasWords(vote))) event.preventDefault();
});
addEventListener("storage", event => {  // the same packet in another tab
  if (event.key !== KEPT || !event.newValue) return;
  JSON.parse(event.newValue).votes.forEach((vote, i) => { if (vote.at > votes[i].at) votes[i] = vote; });
  showVotes();
});

// ── at the start ─────────────────────────────────────────────────────────────────────────────────

function gradeButton(key, value, level, label, definition) {
  const button = make("button", undefined, "grade"), words = make("span");
  button.type = "button";
  button.dataset.value = value;
  words.append(make("b", label), make("span", definition, "small"));
  button.append(make("em", key, level), words);
  button.onclick = () => give(value);
  return button;
}

function queryButton(query) {
  const button = make("button"), text = make("span", query.text), bar = make("progress");
  button.type = "button";
  text.dir = "auto";
  bar.ariaHidden = "true";
  button.append(make("span", "", "small"), text, bar);
  button.onclick = () => { if (isDrawer()) closeSide(); go(rows.findIndex(row => queries[row.query] === query)); };
  return button;
}

byId("grades").append(
  ...rubric.grades.map(grade => gradeButton(
    grade.key === String(grade.value) ? grade.key : String(grade.value), grade.value, grade.level, grade.label, grade.definition)),
  gradeButton("u", "unsure", "unsure", told("unsure"), told("unsure_means")));
byId("queries").append(...queries.map(queryButton));
byId("why-label").append(`${told("why_" + rubric.rationale)} `, make("kbd", "r"), ` ${told("why_sentence")}`);
const digits = rubric.grades.map(grade => grade.key === String(grade.value) ? grade.key : told("key_for_grade", { key: grade.key, grade: grade.value }));
for (const [key, what] of [[digits.join(" "), told("key_grades")], ...Object.entries(KEYS).map(([key, [what]]) => [key, what])])
  byId("help-keys").append(make("dt"), make("dd", what)), byId("help-keys").lastChild.previousSibling.append(...key.split(" ").map(one => make("kbd", one)));

const restored = restore();
if (packet.judge) byId("who").replaceChildren(`${told("judge")} `, make("b", packet.judge));
else {
  byId("judge").value = judge;
  byId("judge").oninput = () => { judge = byId("judge").value; keep(); };
}
byId("why").oninput = () => {
  changed({ rationale: byId("why").value });
  const focus = document.activeElement;
  showVotes();
  focus.focus();
};
byId("save").onclick = save;
byId("load").onclick = () => byId("file").click();
byId("file").onchange = async () => {
  if (byId("file").files[0]) await load(byId("file").files[0]);
  byId("file").value = "";  // the same file may be loaded again
};
byId("open-full").onclick = toggleFull;
byId("open-help").onclick = KEYS["?"][1];
byId("open-side").onclick = () => openSide("rubric");
byId("close-side").onclick = closeSide;
byId("tab-rubric").onclick = () => openSide("rubric");
byId("tab-queries").onclick = () => openSide("queries");
openSide("rubric");
byId("side").classList.remove("open");
showPair();
if (restored) say(told("welcome_back", { n: restored, left: rows.length - count(isDone) }));
