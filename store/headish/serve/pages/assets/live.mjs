// What happens while the page is open: changes are fetched, answers are read while they arrive. An answer that arrives is
// no live region: a polite one says that it began and that it ended.
import { swap } from "./swapping.mjs";

const REGIONS = { thread: ["thread"], list: ["results"] };
const PAUSE = 1000; // Between two fetches, where much is written by others.

export function listen(url, say) {
  const { page, name } = document.body.dataset;
  const source = new EventSource(url);
  let fetched = 0;
  let waiting = null;

  const announced = new Set();

  const announce = () => {
    for (const { dataset } of document.querySelectorAll("[data-answer]")) {
      if (!announced.has(dataset.answer)) say("Answering");
      announced.add(dataset.answer);
    }
  };

  const refresh = () => {
    if (waiting) return;
    const pause = Math.max(0, fetched + PAUSE - performance.now());
    waiting = setTimeout(async () => {
      waiting = null;
      fetched = performance.now();
      const fresh = await swap(location.href, REGIONS[page] ?? []);
      if (fresh) document.body.dataset.head = fresh.body.dataset.head ?? "";
      announce();
    }, pause);
  };

  const isAbout = (told) => {
    if (told.kind?.startsWith("answer")) return told.continues.some((each) => document.getElementById(`t${each}`));
    if (page === "list" || !told.kind || told.kind === "erasure") return true;
    if (told.name && told.name === name) return true;
    return (told.continues ?? []).some((each) => document.getElementById(`t${each}`));
  };

  source.addEventListener("change", (event) => {
    const told = JSON.parse(event.data);
    // What was written through this server is rare, and somebody waits for it; or watches it.
    if (!told.kind || told.kind === "answered") fetched = 0;
    if (isAbout(told)) refresh();
  });
  source.addEventListener("delta", (event) => {
    const told = JSON.parse(event.data);
    const shown = document.querySelector(`[data-answer="${told.answer}"] .arriving-text`);
    if (!shown) return;
    const text = shown.textContent;
    announce();
    if (told.at <= text.length) shown.textContent = text.slice(0, told.at) + told.text;
  });
  source.addEventListener("answered", (event) => {
    const told = JSON.parse(event.data);
    if (announced.has(told.answer)) say(`Answered, ${told.words} words`);
  });
  source.addEventListener("lost", () => { source.close(); location.reload(); });
  addEventListener("pagehide", () => source.close());
}
