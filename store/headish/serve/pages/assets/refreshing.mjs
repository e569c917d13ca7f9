// The page that is shown is fetched again: one fetch at a time, since of two the earlier page could come last, and stay. A
// fetch that fails is tried again, each time after a longer wait; until a page comes, this one says that it is behind.
const PAUSE = 1000; // Between two fetches, where much is written by others.
const LONGEST = 30000; // Between two tries.
const GRACE = 3000; // How long a stream may be away before the page says so: a browser asks for it again after a second.

const behind = document.getElementById("behind");
const told = { fetch: "", stream: "" };

// Why the page may be behind; empty once it is not.
function tell(where, why) {
  told[where] = why;
  const words = told.fetch || told.stream;
  const text = words && `This page is not up to date: ${words}. Trying again.`;
  if (behind.textContent !== text) behind.textContent = text;
}

// How long to wait before a try, after so many that failed.
const pause = (failed) => Math.min(LONGEST, PAUSE * 2 ** failed);

export function refreshing(fetchPage) {
  let fetched = 0, failed = 0, timer = 0;
  let fetching = false, again = false;

  const run = async () => {
    [timer, fetching, again] = [0, true, false];
    fetched = performance.now();
    try {
      await fetchPage();
      failed = 0;
      tell("fetch", "");
    } catch (error) {
      failed += 1;
      tell("fetch", error.message);
    }
    fetching = false;
    if (again || failed) refresh();
  };

  // `at once`: somebody waits for it, or there is a reason to think that a fetch does not fail any more.
  const refresh = (atOnce = false) => {
    if (fetching) again = true;
    if (fetching || (timer && !atOnce)) return;
    clearTimeout(timer);
    timer = setTimeout(run, atOnce ? 0 : Math.max(0, fetched + pause(failed) - performance.now()));
  };
  return refresh;
}

// Read a stream of events for good. A browser asks again by itself where the connection broke, but not where a server, or a
// proxy before it, answered with an error. `begin` gives a new stream; `resumed` is called when it is back.
export function keepOpen(begin, resumed) {
  let source, failed = 0, away = false, grace = 0, next = 0;

  const open = () => {
    source = begin();
    source.addEventListener("open", () => {
      const wasAway = away;
      [failed, away] = [0, false];
      clearTimeout(grace);
      tell("stream", "");
      if (wasAway) resumed();
    });
    source.addEventListener("error", () => {
      if (!away) grace = setTimeout(() => tell("stream", "the server cannot be reached"), GRACE);
      away = true;
      if (source.readyState === EventSource.CLOSED) next = setTimeout(open, pause(failed++));
    });
  };
  open();
  addEventListener("pagehide", () => {
    for (const timer of [grace, next]) clearTimeout(timer);
    away = false;
    source.close();
  });
  // A browser that goes back shows the page as it was left.
  addEventListener("pageshow", (event) => {
    if (!event.persisted) return;
    open();
    resumed();
  });
}
