// Fetch the shown page again. One fetch at a time: of two, the earlier page could come last, and stay. A failed fetch is
// repeated, each time after a longer pause; until one succeeds, the page says that it is not up to date.
const PAUSE = 1000; // Milliseconds between two fetches, while others write much.
const LONGEST = 30000; // The longest pause between two tries.
const GRACE = 3000; // How long a stream may be away before the page says so: a browser connects again after a second.

const behind = document.getElementById("behind");
const told = { fetch: "", stream: "" };

// Say why the page may be out of date; with an empty reason, that it is not.
function tell(where, why) {
  told[where] = why;
  const words = told.fetch || told.stream;
  const text = words && `This page is not up to date: ${words}. Trying again.`;
  if (behind.textContent !== text) behind.textContent = text;
}

// The pause before the next try, after `failed` failures in a row.
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

  // `atOnce`: somebody waits for the page, or there is reason to think that a fetch works again.
  const refresh = (atOnce = false) => {
    if (fetching) again = true;
    if (fetching || (timer && !atOnce)) return;
    clearTimeout(timer);
    timer = setTimeout(run, atOnce ? 0 : Math.max(0, fetched + pause(failed) - performance.now()));
  };
  return refresh;
}

// Keep a stream of events open. A browser connects again by itself after a broken connection, but not after a server, or a
// proxy before it, answered with an error. `begin` makes a new stream; `look` fetches the page: when the stream is back, for
// what was missed, and when it stays away, to learn why, because a stream does not tell the status of an answer.
// A hidden page has no stream: a browser opens six connections to a server, and with a stream in each of six tabs a seventh
// would never load.
export function keepOpen(begin, look) {
  let source = null, failed = 0, away = false, grace = 0, next = 0;

  const isAway = () => {
    look();
    tell("stream", "the server cannot be reached");
  };
  const open = () => {
    source = begin();
    source.addEventListener("open", () => {
      const wasAway = away;
      [failed, away] = [0, false];
      clearTimeout(grace);
      tell("stream", "");
      if (wasAway) look();
    });
    source.addEventListener("error", () => {
      if (!away) grace = setTimeout(isAway, GRACE);
      away = true;
      if (source.readyState === EventSource.CLOSED) next = setTimeout(open, pause(failed++));
    });
  };
  const shut = () => {
    for (const timer of [grace, next]) clearTimeout(timer);
    away = false;
    source?.close();
    source = null;
  };
  const wake = () => {
    if (source || document.hidden) return;
    open();
    look();
  };
  if (!document.hidden) open();
  document.addEventListener("visibilitychange", () => (document.hidden ? shut() : wake()));
  addEventListener("pagehide", shut);
  // When a browser goes back, it may show the page as it was left, with its stream closed.
  addEventListener("pageshow", (event) => event.persisted && wake());
}
