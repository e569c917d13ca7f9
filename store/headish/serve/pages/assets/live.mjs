// What happens while the page is open: changes are fetched, answers are read while they arrive. An answer that arrives is
// no live region: a polite one says that it began and that it ended.
import { swap } from "./swapping.mjs";

const REGIONS = { thread: ["thread"], arriving: ["thread"], list: ["results"] };
const PAUSE = 1000; // Between two fetches, where much is written by others.

export function listen(url, say) {
  const { page, name } = document.body.dataset;
  const source = new EventSource(url);
  let fetched = 0;
  let waiting = false, fetching = false, again = false;

  const announced = new Set();
  const answers = new Map(); // The parts of each, as far as they came: a page that was fetched meanwhile may know less.

  const announce = () => {
    for (const { dataset } of document.querySelectorAll("[data-answer]")) {
      if (!announced.has(dataset.answer)) say("Answering");
      announced.add(dataset.answer);
    }
  };

  const fetchPage = async () => {
    fetched = performance.now();
    const fresh = await swap(location.href, REGIONS[page] ?? []);
    if (fresh) document.body.dataset.head = fresh.body.dataset.head ?? "";
    for (const [answer, parts] of answers) for (const part of parts.values()) show(answer, part);
    announce();
  };

  // One fetch at a time: of two, the earlier page could come last, and stay.
  const refresh = () => {
    if (fetching) again = true;
    if (waiting || fetching) return;
    waiting = true;
    setTimeout(async () => {
      [waiting, fetching] = [false, true];
      try {
        await fetchPage();
      } finally {
        fetching = false;
        if (again) refresh();
        again = false;
      }
    }, Math.max(0, fetched + PAUSE - performance.now()));
  };

  const isShown = (answer) => document.querySelector(`[data-answer="${answer}"]`) !== null;

  const isAbout = (told) => {
    if (told.kind?.startsWith("answer")) {
      if (!told.continues.length) return page === "list" || isShown(told.answer);
      return told.continues.some((each) => document.getElementById(`t${each}`));
    }
    if (page === "list" || !told.kind || told.kind === "erasure") return true;
    if (told.name && told.name === name) return true;
    return (told.continues ?? []).some((each) => document.getElementById(`t${each}`));
  };

  source.addEventListener("change", (event) => {
    const told = JSON.parse(event.data);
    // Its turns have a page of their own, to which this one leads from now on.
    if (page === "arriving" && told.kind === "answered" && isShown(told.answer)) return location.reload();
    // What was written through this server is rare, and somebody waits for it; or watches it.
    if (!told.kind || told.kind === "answered") fetched = 0;
    if (isAbout(told)) refresh();
  });
  source.addEventListener("delta", (event) => {
    const told = JSON.parse(event.data);
    if (!answers.has(told.answer)) answers.set(told.answer, new Map());
    const parts = answers.get(told.answer);
    const text = (parts.get(told.part)?.text ?? "").slice(0, told.at) + told.text;
    parts.set(told.part, { ...told, text });
    show(told.answer, parts.get(told.part));
    announce();
  });
  source.addEventListener("answered", (event) => {
    const told = JSON.parse(event.data);
    answers.delete(told.answer);
    if (announced.has(told.answer)) say(`Answered, ${told.words} words`);
  });
  source.addEventListener("lost", () => { source.close(); location.reload(); });
  addEventListener("pagehide", () => source.close());
}

// A part of an answer, as part.html draws it.
function show(answer, { part, kind, title, text }) {
  const parts = document.querySelector(`[data-answer="${answer}"] .parts`);
  if (!parts) return;
  let shown = parts.querySelector(`[data-part="${part}"]`);
  if (!shown) {
    shown = kind === "text" ? make("div", "text arriving-text") : make("details", kind);
    shown.dataset.part = part;
    if (kind !== "text") shown.append(make("summary"), make("pre"));
    parts.insertBefore(shown, [...parts.children].find((each) => Number(each.dataset.part) > part) ?? null);
  }
  if (kind !== "text" && shown.firstElementChild.textContent !== title) shown.firstElementChild.textContent = title;
  const words = kind === "text" ? shown : shown.lastElementChild;
  if (words.textContent !== text) words.textContent = text;
}

function make(name, style) {
  const made = document.createElement(name);
  if (style) made.className = style;
  made.dir = "auto";
  return made;
}
