// A document as the HTML of its page.
import { Parser, Renderer } from "marked";
import { escapeHtml, highlight } from "./highlight.js";

/** What the tests do with a block of a document; tests/support/documents.ts does it. */
const kinds = {
  sh: ["Shell", "run by the tests"],
  "sh ci": ["Shell", "run by CI"],
  ts: ["TypeScript", "type-checked"],
  "ts run": ["TypeScript", "run by the tests"],
  "ts sketch": ["TypeScript", "a sketch"],
  "text output": ["Prints", "compared by the tests"],
  json: ["JSON", ""],
};

/** Renders a page. `link` turns each of its links, and each address of a picture, into one of the site. */
export function renderPage(page, link) {
  const renderer = new Renderer();
  renderer.heading = function heading({ tokens, depth, id }) {
    const text = this.parser.parseInline(tokens);
    if (id === undefined) return `<h${depth}>${text}</h${depth}>\n`;
    if (depth === 1) return `<h1 id="${id}">${text}</h1>\n`;
    const label = escapeHtml(this.parser.parseInline(tokens, this.parser.textRenderer));
    return `<h${depth} id="${id}">${text} <a class="anchor" href="#${id}" aria-label="Link to ${label}">#</a></h${depth}>\n`;
  };
  renderer.link = function anchor({ href, tokens }) {
    const to = link(page, href);
    const rel = to.includes("://") ? ' rel="noreferrer"' : "";
    return `<a href="${escapeHtml(to)}"${rel}>${this.parser.parseInline(tokens)}</a>`;
  };
  renderer.image = ({ href, text }) => {
    const to = escapeHtml(link(page, href, true));
    const picture = `<img src="${to}" alt="${escapeHtml(text)}" loading="lazy">`;
    return to.endsWith(".svg") ? `<span class="drawing">${picture}</span>` : picture;
  };
  renderer.html = ({ text }) =>
    text.replaceAll(/\b(src|href)="([^"]*)"/g, (_, name, to) => `${name}="${link(page, to, name === "src")}"`);
  renderer.code = ({ text, lang = "" }) => {
    const [title, check] = kinds[lang] ?? ["", ""];
    const head = title === "" ? "" : `<figcaption><b>${title}</b><span>${check}</span></figcaption>`;
    const of = lang === "text output" ? "code output" : "code";
    return `<figure class="${of}">${head}<pre><code>${highlight(text, lang.split(" ")[0])}</code></pre></figure>\n`;
  };
  const table = renderer.table;
  renderer.table = function wrapped(token) {
    return `<div class="table">${table.call(this, token)}</div>\n`;
  };
  return Parser.parse(page.tokens, { renderer });
}
