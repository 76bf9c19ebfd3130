// A document as a judge reads it: question, conclusion and best passages first, the whole text one key
// away. Everything it says is put in as text.
"use strict";
const WORD = /[\p{L}\p{N}\p{M}]+(?:["'״׳’][\p{L}\p{N}\p{M}]+)*/gu;
const SHORT = 220;  // words: a text so short is shown at once, as in packets
const SUMMARY = "[Summary, not the document's own words] ";

const reading = {
  words: document.getElementById("words").dataset,
  whole: false,

  make(name, text, kind) {
    const element = document.createElement(name);
    if (text) element.textContent = text;
    if (kind) element.className = kind;
    return element;
  },

  // A paragraph with the words of the query marked.
  marked(text, forms) {
    const paragraph = reading.make("p");
    paragraph.dir = "auto";
    let end = 0;
    for (const match of text.matchAll(WORD)) {
      if (!forms.has(match[0].toLowerCase())) continue;
      paragraph.append(text.slice(end, match.index), reading.make("mark", match[0]));
      end = match.index + match[0].length;
    }
    paragraph.append(text.slice(end));
    return paragraph;
  },

  part(box, title, text, forms) {
    if (!text) return;
    const isSummary = text.startsWith(SUMMARY);
    box.append(reading.make("h2", title));
    if (isSummary) box.append(reading.make("p", reading.words.summaryNote, "small note"));
    for (const piece of (isSummary ? text.slice(SUMMARY.length) : text).split(/\n\s*\n/)) box.append(reading.marked(piece, forms));
  },

  show(box, read) {
    const { row } = read, forms = new Set(read.words), make = reading.make;
    const head = make("header"), name = make("div");
    const title = make("b", row.title || row.doc_id);
    title.dir = "auto";
    name.append(title, make("div", [row.title ? row.doc_id : "", ...read.facts.slice(0, 1)].filter(Boolean).join(" · "), "small"));
    const chips = make("div", "", "chips");
    for (const fact of read.facts.slice(1, 5)) chips.append(make("span", fact, "chip"));
    head.append(name, chips);
    const hasParts = row.question || row.conclusion;
    const isShort = row.text.trim().split(/\s+/).length <= SHORT;
    const opening = hasParts || (row.passages.length && !isShort);
    const law = make("div", "", "law");
    if (read.language) law.lang = read.language;
    const whole = reading.whole || !opening;
    const tabs = make("div", "", "tabs");
    if (opening) {
      const first = make("button", hasParts ? `${reading.words.question} · ${reading.words.conclusion}` : reading.words.passages);
      const all = make("button", `${reading.words.wholeText} `);
      all.append(make("kbd", "F"));
      all.dataset.key = "f";
      first.type = all.type = "button";
      first.setAttribute("aria-pressed", String(!whole));
      all.setAttribute("aria-pressed", String(whole));
      first.onclick = () => { reading.whole = false; reading.show(box, read); };
      all.onclick = () => { reading.whole = !reading.whole; reading.show(box, read); };
      tabs.append(first, all);
    }
    if (whole) {
      for (const piece of (row.text || reading.words.noText).split(/\n\s*\n/)) law.append(reading.marked(piece, forms));
    } else {
      reading.part(law, reading.words.question, row.question, forms);
      reading.part(law, reading.words.conclusion, row.conclusion, forms);
      if (row.passages.length) law.append(make("h2", reading.words.passages));
      for (const passage of row.passages) law.append(reading.marked(`… ${passage} …`, forms));
    }
    box.replaceChildren(head, ...(opening ? [tabs] : []), law);
    box.setAttribute("aria-busy", "false");
  },
};
