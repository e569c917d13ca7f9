// Keep an open page up to date: fetch changes, show answers while they arrive. An arriving answer is not a live region:
// only its beginning and its end are announced, politely.
import { keepOpen, refreshing } from "./refreshing.mjs";
import { swap } from "./swapping.mjs";

const REGIONS = { thread: ["thread"], arriving: ["thread"], list: ["results"] };

// Listen to the stream of events. Returns a function that fetches the page again.
export function listen(url, say) {
  const { page, name } = document.body.dataset;
  const announced = new Set();
  const ended = new Set();
  const answers = new Map(); // The parts of each so far: a page that was fetched meanwhile may have less of them.

  const announce = () => {
    for (const { dataset } of document.querySelectorAll("[data-answer]")) {
      if (!announced.has(dataset.answer) && !ended.has(dataset.answer)) say("Answering");
      announced.add(dataset.answer);
    }
  };

  const end = (answer, words) => {
    if (announced.has(answer) && !ended.has(answer)) say(words);
    ended.add(answer);
  };

  // Nobody tells a stream that opens later of an answer that has ended by then: the fetched page does.
  const announceEnds = () => {
    for (const answer of announced) {
      const shown = document.querySelector(`[data-answer="${answer}"]`);
      if (!shown) end(answer, "Answered");
      else if (shown.querySelector(".failure")) end(answer, "Failed");
    }
  };

  const refresh = refreshing(async () => {
    const fresh = await swap(location.href, REGIONS[page] ?? []);
    if (page === "arriving" && fresh.body.dataset.page !== page) return location.reload();
    for (const [answer, parts] of answers) for (const part of parts.values()) show(answer, part);
    announce();
    announceEnds();
  });

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

  const readers = {
    change: (told) => {
      // The answer is stored: this address now redirects to the page of its turns.
      if (page === "arriving" && told.kind === "answered" && isShown(told.answer)) return location.reload();
      // Writes through this server are rare, and somebody waits for them or watches them: fetch at once.
      if (isAbout(told)) refresh(!told.kind || told.kind === "answered");
    },
    delta: (told) => {
      if (!answers.has(told.answer)) answers.set(told.answer, new Map());
      const parts = answers.get(told.answer);
      const text = (parts.get(told.part)?.text ?? "").slice(0, told.at) + told.text;
      parts.set(told.part, { ...told, text });
      show(told.answer, parts.get(told.part));
      announce();
    },
    answered: (told) => {
      answers.delete(told.answer);
      end(told.answer, told.failed ? "Failed" : `Answered, ${told.words} word${told.words === 1 ? "" : "s"}`);
    },
    lost: () => location.reload(),
  };

  const from = new URL(url, location.href);
  keepOpen(() => {
    const source = new EventSource(from);
    for (const [kind, read] of Object.entries(readers)) {
      source.addEventListener(kind, (event) => {
        if (event.lastEventId) from.searchParams.set("after", event.lastEventId);
        read(JSON.parse(event.data));
      });
    }
    return source;
  }, () => refresh(true));
  announce();
  return refresh;
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
