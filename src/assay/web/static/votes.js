// Votes on their way: each is kept in this browser until the server says that it is on disk, and sent
// again until then. Its id is made here, so that sending it twice is harmless; every vote has a key of
// its own, so that two tabs never overwrite each other's.
"use strict";
const desk = document.getElementById("desk").dataset;
const words = document.getElementById("words").dataset;
const WAITING = `assay.vote.${desk.judge}.`, DRAFT = `assay.draft.${desk.judge}.${desk.set}.${desk.query}.`;

// What this browser keeps for the pages of a judge.
function stored(store, key, fallback) {
  try { return JSON.parse(store.getItem(key)) ?? fallback; } catch { return fallback; }
}
function store(store, key, value) {
  try { value === null ? store.removeItem(key) : store.setItem(key, JSON.stringify(value)); } catch { /* for this page only */ }
}

const votes = {
  listeners: [],
  busy: false,
  trouble: "",  // why the last attempt did not arrive
  wait: 500,
  timer: 0,
  leaving: "",  // the page that opens next
  stuck: "",  // what is said where it cannot be had

  // Those on their way; with `now` those that their judge overtook in another window, who is asked.
  waiting(asked = false) {
    const found = [];
    try {
      for (let place = 0; place < localStorage.length; place++) {
        const key = localStorage.key(place);
        if (key.startsWith(WAITING)) found.push(JSON.parse(localStorage.getItem(key)));
      }
    } catch { /* what cannot be read is not there */ }
    return [...found, ...votes.unkept].filter(vote => Boolean(vote.now) === asked).sort((one, other) => one.given - other.given);
  },
  unkept: [],  // where the browser keeps nothing

  give(vote) {
    const whole = { set: desk.set, query_id: desk.query, ...vote, id: crypto.randomUUID ? crypto.randomUUID() : fallbackId(), given: Date.now() };
    votes.keep(whole);
    votes.tell();
    votes.send();
    return whole;
  },

  keep(vote) {
    try { localStorage.setItem(WAITING + vote.id, JSON.stringify(vote)); } catch { votes.unkept.push(vote); }
  },

  drop(vote) {
    try { localStorage.removeItem(WAITING + vote.id); } catch { /* nothing was kept */ }
    votes.unkept = votes.unkept.filter(other => other.id !== vote.id);
  },

  async send() {
    if (votes.busy) return;
    votes.busy = true;
    clearTimeout(votes.timer);
    try {
      for (let next; (next = votes.waiting()[0]);) {
        const { given, title, ...vote } = next;
        vote.ago = Math.max(0, (Date.now() - given) / 1000);
        const saved = await votes.posted(vote);
        votes.drop(next);
        votes.trouble = "";
        votes.wait = 500;
        votes.tell(next, saved);
      }
    } catch (error) {
      const next = votes.waiting()[0];
      if (error.status === 412 && next) {  // nothing is lost: it is kept, and the judge says which one holds
        votes.drop(next);
        votes.keep({ ...next, now: error.said.now });
        votes.tell(next, null, "", true);
        votes.timer = setTimeout(votes.send, 10);
      } else if ([400, 404].includes(error.status)) {  // it will never be taken: say so, and go on with the others
        const refused = votes.waiting()[0];
        if (refused) votes.drop(refused);
        votes.tell(refused, null, error.message);
        votes.timer = setTimeout(votes.send, 10);
      } else {
        votes.trouble = [401, 403, 409].includes(error.status) ? "signed" : "lost";
        votes.tell();
        votes.wait = Math.min(votes.wait * 2, 15000);
        votes.timer = setTimeout(votes.send, votes.wait * (0.5 + Math.random()));  // not all judges at once
      }
    }
    votes.busy = false;
  },

  async posted(vote) {
    try {
      return await assay.post("/api/votes", vote);
    } catch (error) {
      if (error.status !== 403) throw error;
      // the server was started anew: this page's token is an old one
      const page = await fetch(location.href);
      const fresh = new DOMParser().parseFromString(await page.text(), "text/html").querySelector('meta[name="csrf"]');
      if (!fresh || page.redirected) throw error;
      assay.csrf = fresh.content;
      return assay.post("/api/votes", vote);
    }
  },

  // Opens another page once it can be had: without a connection one stays here.
  async leave(address, before = () => {}) {
    votes.leaving = address;
    const wanted = () => votes.leaving === address;
    const reach = async () => {
      for (let tries = 0; votes.busy && tries < 50; tries++) await new Promise(done => setTimeout(done, 20));
      await assay.fetch("/healthz", { cache: "no-store" });
    };
    try { await assay.arrived(reach, wanted, (said) => { votes.stuck = said; votes.tell(); }); } catch { return; }
    if (!wanted()) return;
    before();
    location.assign(address);
  },

  // The judge does something else meanwhile.
  stay() {
    const was = votes.stuck;
    votes.leaving = votes.stuck = "";
    if (was) votes.tell();
  },

  // listener(vote, saved, refused, overtaken): about one vote, or about how things stand
  tell(vote, saved, refused, overtaken = false) {
    const count = votes.waiting().length, asked = votes.waiting(true)[0];
    const state = document.getElementById("state"), banner = document.getElementById("banner");
    state.textContent = refused || overtaken ? "" : count ? (votes.trouble ? "" : words.saving) : saved ? words.saved : state.textContent;
    banner.hidden = !(refused || asked || votes.stuck || (count && votes.trouble));
    if (refused) banner.textContent = words.refusedVote.replace("{why}", refused);
    else if (votes.trouble === "signed") banner.replaceChildren(`${words.signedOut} `, Object.assign(document.createElement("a"), { href: `/sign-in?next=${encodeURIComponent(location.pathname + location.search)}`, textContent: words.signIn }));
    else if (count && votes.trouble) banner.textContent = count === 1 ? words.kept : words.keptMany.replace("{n}", count);
    else if (votes.stuck) banner.textContent = votes.stuck;
    else if (asked) votes.ask(asked, banner);
    for (const listener of votes.listeners) listener(vote, saved, refused, overtaken);
  },

  // Which of two votes of one judge holds, that of another window or the one given here?
  ask(vote, banner) {
    const grade = (said) => said.withdrawn || said.vote === "" ? words.noGrade : said.grade === null ? words.unsure : String(said.grade);
    const at = new Date(vote.now.at), today = at.toDateString() === new Date().toDateString();
    const time = vote.now.at ? at.toLocaleString(document.documentElement.lang, today ? { hour: "2-digit", minute: "2-digit" } : { dateStyle: "medium", timeStyle: "short" }) : "–";
    const facts = { then: grade(vote.now), now: grade(vote), time };
    const filled = (text) => text.replace(/\{(\w+)\}/g, (_, name) => facts[name]);
    const link = Object.assign(document.createElement("a"), { href: addressOf({ set: vote.set, query: vote.query_id, doc: vote.doc_id }), textContent: vote.title || vote.doc_id, title: vote.doc_id, dir: "auto" });
    const choice = (text, key, className, chosen) => {
      const button = document.createElement("button"), shown = document.createElement("kbd");
      shown.textContent = key.toUpperCase();
      Object.assign(button, { type: "button", className });
      button.dataset.key = key;
      button.append(`${filled(text)} `, shown);
      button.addEventListener("click", chosen);
      return button;
    };
    const again = () => { const { now, ...said } = vote; votes.drop(vote); votes.give({ ...said, seen: now.vote }); };
    const [before, after] = words.meanwhile.split("{doc}");
    banner.replaceChildren(filled(before), link, `${filled(after)} `, choice(words.keepThen, "y", "approve", () => votes.settle(vote)), " ", choice(words.changeTo, "c", "", again));
  },

  // Keeps what another window said, if that still stands; else the judge is asked anew.
  async settle(vote) {
    try {
      const { pairs } = await assay.get(`/api/judge/query?${new URLSearchParams({ set: vote.set, query: vote.query_id })}`);
      const now = pairs.find(pair => pair.doc_id === vote.doc_id);
      if (now && now.vote !== vote.now.vote) { votes.keep({ ...vote, now }); return votes.tell(); }
      votes.drop(vote);
      votes.tell(vote, null, "", true);
    } catch (error) { document.getElementById("state").textContent = error.message; }
  },
};

const addressOf = (one) => `/judge/${encodeURIComponent(one.set)}/${one.query.split("/").map(encodeURIComponent).join("/")}?doc=${encodeURIComponent(one.doc)}`;

// Links lead on as everything here does: to a page that can be had.
document.addEventListener("click", (event) => {
  const link = event.target.closest("a[href]");
  if (!link || event.defaultPrevented || event.button || event.ctrlKey || event.metaKey || event.shiftKey || event.altKey) return;
  if (link.target || link.origin !== location.origin || link.getAttribute("href").startsWith("#")) return;
  event.preventDefault();
  votes.leave(link.href);
});

// A reason has some words of its own; the server has the same rule, and the last word (judging/votes.py).
function saysWhy(text, starts = []) {
  const told = text.trim().replace(/\s+/g, " ");
  const counted = (said) => { const words = said.match(/[\p{L}\p{N}][\p{L}\p{N}\p{M}_'’׳״-]*/gu) || []; return [words.length, words.join("").length]; };
  if (told.endsWith(":")) return false;
  const start = starts.map(each => each.trim().replace(/:$/, "")).find(each => each && told.startsWith(each));
  const added = start ? told.slice(start.length) : "", [words, letters] = counted(start ? added : told);
  return start ? letters >= (added.startsWith(":") ? 3 : 5) : words > 1 && letters >= (words >= 3 ? 10 : 20);
}

// Said of a reason that is too long to be kept: it is never cut (judging/votes.py).
function tooLong(text) {
  return text.length > Number(desk.longest) ? words.tooLong.replace("{n}", text.length.toLocaleString(document.documentElement.lang)).replace("{most}", Number(desk.longest).toLocaleString(document.documentElement.lang)) : "";
}

function fallbackId() {
  return Array.from(crypto.getRandomValues(new Uint8Array(16)), byte => byte.toString(16).padStart(2, "0")).join("");
}

addEventListener("online", () => { votes.wait = 500; votes.send(); });
addEventListener("focus", () => votes.send());
setTimeout(() => { votes.tell(); votes.send(); }, 0);
