
"use strict";
(() => {
  const input = document.getElementById("search");
  const found = document.getElementById("found");
  const articles = [...document.querySelectorAll("article")];
  input.hidden = false;
  const search = () => {
    const wanted = input.value.trim().toLowerCase();
    let count = 0;
    for (const article of articles) {
      const matches = !wanted || article.textContent.toLowerCase().includes(wanted);
      article.hidden = !matches;
      count += matches;
    }
    found.textContent = wanted ? `${count} of ${articles.length} messages` : "";
  };
  input.addEventListener("input", search);
  window.addEventListener("beforeprint", () => {
    for (const details of document.querySelectorAll("details")) details.open = true;
  });
})();
