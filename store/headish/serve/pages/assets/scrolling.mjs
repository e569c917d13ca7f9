// A table that is wider than its turn scrolls. Not every browser lets the Tab key reach it, so a table gets a place in the
// order of Tab, with its headings as its name, while it scrolls.
const NAME = 300; // The most characters of a name.
const sized = new ResizeObserver((entries) => {
  for (const { target } of entries) reach(target);
});

function reach(table) {
  if (table.scrollWidth > table.clientWidth) {
    table.tabIndex = 0;
    table.setAttribute("aria-label", [...table.rows[0].cells].map((cell) => cell.textContent).join(", ").slice(0, NAME));
  } else {
    table.removeAttribute("tabindex");
    table.removeAttribute("aria-label");
  }
}

export function watchTables() {
  for (const table of document.querySelectorAll("main table")) sized.observe(table);
}
