// Makes the page comfortable: search as you type, keys, forms sent once, copying, live updates. Every link and form works without it.
import { listen } from "./live.mjs";
import { refreshing } from "./refreshing.mjs";
import { watchTables } from "./scrolling.mjs";
import { swap } from "./swapping.mjs";

const body = document.body;
const search = document.getElementById("search");

// Search as you type: fetch the page of the search, and put its results in the place of those that are shown.
let typed = 0;
search?.addEventListener("input", () => {
  const results = document.getElementById("results");
  if (!results) return;
  const mine = ++typed;
  setTimeout(async () => {
    if (mine !== typed) return;
    const asked = new URL("/", location.href);
    const space = search.form.elements.space?.value;
    if (space) asked.searchParams.set("space", space);
    if (search.value.trim()) asked.searchParams.set("q", search.value.trim());
    const found = await swap(asked, ["results"], () => mine === typed).catch(() => null);
    if (mine !== typed) return;
    history.replaceState(null, "", asked);
    if (!found) return refresh();
    say(document.querySelector("#results h1")?.textContent ?? "");
  }, 120);
});

// A double click sends a form once: each time would store what was said, and ask a model.
const sent = new WeakMap();
document.addEventListener("submit", (event) => {
  if (event.target.method !== "post") return;
  if (event.timeStamp - sent.get(event.target) < 1000) event.preventDefault();
  else sent.set(event.target, event.timeStamp);
});

watchTables();

// Copying.
for (const button of document.querySelectorAll("[data-copy]")) {
  button.hidden = false;
  button.addEventListener("click", async () => {
    await navigator.clipboard.writeText(document.getElementById(button.dataset.copy).textContent);
    button.textContent = "Copied";
    say("Copied");
  });
}

// Keys. They do nothing while a field has the focus.
const KEYS_OFF = "headish-keys-off";
const isOff = () => localStorage.getItem(KEYS_OFF) === "1";
const keysSwitch = document.getElementById("keys-switch");
if (keysSwitch) {
  const name = () => { keysSwitch.textContent = isOff() ? "Switch the keys on" : "Switch the keys off"; };
  keysSwitch.hidden = false;
  name();
  keysSwitch.addEventListener("click", () => {
    localStorage.setItem(KEYS_OFF, isOff() ? "0" : "1");
    name();
  });
}

const turns = () => [...document.querySelectorAll("article[data-turn]")];
const current = () => document.querySelector("article.current") ?? document.querySelector("article:target");

function go(step, only) {
  const all = turns().filter((each) => !only || each.classList.contains(only));
  if (!all.length) return;
  const at = current();
  let next;
  if (!at) next = step > 0 ? all[0] : all.at(-1);
  else {
    const after = all.filter((each) => each !== at && (at.compareDocumentPosition(each) & Node.DOCUMENT_POSITION_FOLLOWING) === (step > 0 ? Node.DOCUMENT_POSITION_FOLLOWING : 0));
    next = step > 0 ? after[0] : after.at(-1);
  }
  if (!next) return document.querySelector(step > 0 ? ".pages [rel=next]" : ".pages [rel=prev]")?.click();
  choose(next);
}

function choose(turn) {
  for (const each of document.querySelectorAll("article.current")) each.classList.remove("current");
  turn.classList.add("current");
  turn.focus({ preventScroll: true });
  turn.scrollIntoView({ block: "nearest" });
}

const follow = (key) => current()?.querySelector(`[data-key="${key}"]`)?.click();
const KEYS = {
  j: () => go(1), k: () => go(-1), J: () => go(1, "user"), K: () => go(-1, "user"),
  h: () => follow("h"), l: () => follow("l"), d: () => follow("d"),
  f: () => follow("f"),
  "/": () => search?.focus(),
  "?": () => document.querySelector(".bar [data-key='?']").click(),
};

document.addEventListener("keydown", (event) => {
  if (event.ctrlKey || event.metaKey || event.altKey || isOff()) return;
  if (event.target.closest("input, textarea, select, [contenteditable]")) return;
  const act = KEYS[event.key];
  if (!act) return;
  event.preventDefault();
  act();
});

export function say(words) {
  document.getElementById("polite").textContent = words;
}

const refresh = body.dataset.live ? listen(body.dataset.live, say) : refreshing(() => swap(location.href, ["results"]));
