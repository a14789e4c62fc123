// The frame around each page.
import { escapeHtml } from "./highlight.js";
import { relative } from "./links.js";
import { plainText } from "./pages.js";

const mark = `<svg class="mark" viewBox="0 0 32 32" aria-hidden="true" focusable="false"><rect width="32" height="32" rx="7"/><path d="M8 25V9m0 4 17-5"/><circle cx="8" cy="13" r="2.6"/></svg>`;

/** A whole page of the site. `pages` are all of them, in order. */
export function pageHtml(page, body, pages) {
  const to = (address) => escapeHtml(relative(page.address, address));
  const title = page.address === "index.html" ? "Turnpike" : `${page.title} · Turnpike`;
  return `<!doctype html>
<html lang="en" data-root="${to("index.html").replace(/index\.html$/, "")}">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta name="color-scheme" content="light dark">
<title>${escapeHtml(title)}</title>
<link rel="icon" href="${to("assets/icon.svg")}" type="image/svg+xml">
<link rel="stylesheet" href="${to("assets/site.css")}">
<script src="${to("assets/site.js")}" defer></script>
</head>
<body>
<a class="skip" href="#content">Skip to the text</a>
<header class="side">
<div class="side-head">
<a class="brand" href="${to("index.html")}">${mark} Turnpike</a>
<button class="menu-button" type="button" aria-expanded="false" aria-controls="menu">Menu</button>
<button class="search-button" type="button" aria-haspopup="dialog">Search <kbd>/</kbd></button>
</div>
<nav id="menu" aria-label="Pages">${menu(page, pages, to)}</nav>
</header>
<main id="content" tabindex="-1">
<p class="group">${escapeHtml(page.group)}</p>
<article>
${body}</article>
<footer>
<nav class="around" aria-label="Previous and next">${neighbours(page, pages, to)}</nav>
<p>From <code>${escapeHtml(page.source)}</code></p>
</footer>
</main>
${outline(page)}
</body>
</html>
`;
}

function menu(page, pages, to) {
  return [...new Set(pages.map(({ group }) => group))]
    .map((group) => {
      const members = pages.filter((one) => one.group === group);
      const items = members.map((one) => {
        const current = one === page ? ' aria-current="page"' : "";
        return `<li><a href="${to(one.address)}"${current}>${escapeHtml(one.label)}</a></li>`;
      });
      return `<h2>${escapeHtml(group)}</h2><ul>${items.join("")}</ul>`;
    })
    .join("\n");
}

function neighbours(page, pages, to) {
  const at = pages.indexOf(page);
  const card = (one, name) =>
    one === undefined
      ? ""
      : `<a class="${name.toLowerCase()}" href="${to(one.address)}"><span>${name}</span> ${escapeHtml(one.label)}</a>`;
  return card(pages[at - 1], "Previous") + card(pages[at + 1], "Next");
}

/** The headings of the page, beside it where there is room. */
function outline({ headings }) {
  const shown = headings.slice(1).filter(({ depth }) => depth <= 3);
  if (shown.length < 2) return "";
  const items = shown.map(
    (heading) =>
      `<li class="level-${heading.depth}"><a href="#${heading.id}">${escapeHtml(plainText(heading))}</a></li>`,
  );
  return `<nav class="outline" aria-label="On this page"><h2>On this page</h2><ul>${items.join("")}</ul></nav>`;
}
