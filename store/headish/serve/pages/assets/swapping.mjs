// Replace parts of the shown page with those of a fetched one. The server's HTML passes one policy of Trusted Types;
// focus, typed text and unfolded details stay.
import { watchTables } from "./scrolling.mjs";

const policy = globalThis.trustedTypes?.createPolicy("headish", { createHTML: (text) => text });

const FIELDS = "input, textarea, select";
const PATIENCE = 60000; // How long to wait for a page, in milliseconds.

// Returns false if the page is no longer wanted. Throws an Error with the reason if the page cannot be fetched.
export async function swap(url, ids, stillWanted = () => true) {
  const text = await ask(url);
  if (!stillWanted()) return false;
  const page = new DOMParser().parseFromString(policy ? policy.createHTML(text) : text, "text/html");
  if (!page.body.dataset.page) throw new Error("another page came in its place");
  for (const id of ids) {
    const old = document.getElementById(id), fresh = page.getElementById(id);
    if (old && fresh) renew(old, fresh);
  }
  document.title = page.title;
  watchTables();
  return page;
}

async function ask(url) {
  let answer, text;
  try {
    answer = await fetch(url, { headers: { accept: "text/html" }, signal: AbortSignal.timeout(PATIENCE) });
    text = await answer.text();
  } catch {
    throw new Error("the server cannot be reached");
  }
  if (answer.status === 401) throw new Error("you are no longer logged in");
  if (!answer.ok) throw new Error(`the server answered ${answer.status}`);
  return text;
}

// Keeps children that have the same id in both, and leaves alone what the reader is using.
export function renew(old, fresh) {
  if (old.isEqualNode(fresh)) return;
  const busy = document.activeElement;
  if (old === busy && old.matches(FIELDS)) return;
  if (old.nodeName !== fresh.nodeName || !old.children.length || !fresh.children.length) {
    if (old.contains(busy) && busy !== old) return;
    old.replaceWith(document.importNode(fresh, true));
    return;
  }
  for (const { name, value } of fresh.attributes) if (name !== "open" && name !== "class") old.setAttribute(name, value);
  if (!old.classList.contains("current")) old.className = fresh.className;
  const known = new Map([...old.children].filter((each) => each.id).map((each) => [each.id, each]));
  let at = old.firstChild;
  for (const node of [...fresh.childNodes]) {
    const match = node.id ? known.get(node.id) : like(at, node) ? at : null;
    if (match) {
      const next = match === at ? at.nextSibling : at;
      if (match !== at) old.insertBefore(match, at);
      if (match.nodeType === Node.TEXT_NODE) match.data = node.data;
      else renew(match, node);
      at = next;
    } else {
      old.insertBefore(document.importNode(node, true), at);
    }
  }
  while (at) {
    const next = at.nextSibling;
    if (!at.contains(busy)) at.remove();
    else if (!busy.matches(FIELDS)) {
      // The stored answer stands before the one that arrived, and takes the focus of its button over.
      const before = at.previousElementSibling;
      at.remove();
      before?.focus({ preventScroll: true });
    }
    at = next;
  }
}

const like = (one, other) => one && one.nodeType === other.nodeType && one.nodeName === other.nodeName && !one.id && !other.id;
