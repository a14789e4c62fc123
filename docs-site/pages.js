// The documents of the repository, in the order of contents.json, read and taken apart.
import { existsSync, readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { Lexer } from "marked";
import { slugs } from "./slugs.js";

/**
 * Reads the documents that the table of contents names, and every document has to be named. A name that ends with a slash stands
 * for all documents below that folder. What is wrong goes to `problems`.
 */
export function readPages(root, contents, problems) {
  const entries = contents.flatMap(({ group, pages }) =>
    Object.entries(pages).flatMap(([source, label]) =>
      sourcesOf(root, source).map((one) => ({ group, source: one, label })),
    ),
  );
  const listed = new Set(entries.map(({ source }) => source));
  for (const source of documentsOf(root)) {
    if (!listed.has(source)) problems.push(`${source} is not in docs-site/contents.json. Add it to a group.`);
  }
  return entries.flatMap((entry) => {
    if (existsSync(join(root, entry.source))) return [readPage(root, entry)];
    problems.push(`${entry.source} is in docs-site/contents.json and does not exist.`);
    return [];
  });
}

function readPage(root, { group, source, label }) {
  const tokens = Lexer.lex(readFileSync(join(root, source), "utf8"));
  const slug = slugs();
  const headings = tokens
    .filter(({ type }) => type === "heading")
    .map((token) => Object.assign(token, { id: slug(plainText(token)) }));
  const title = headings[0] === undefined ? source : plainText(headings[0]);
  const anchors = new Set(headings.map(({ id }) => id));
  return { group, source, label: label || title, title, address: addressOf(source), tokens, headings, anchors };
}

/** `docs/guide/turns.md` is `guide/turns.html`; the README of the repository is the first page. */
export function addressOf(source) {
  if (source === "README.md") return "index.html";
  // Beside `docs/security.md`, whose name differs in its case alone.
  if (source === "SECURITY.md") return "security-policy.html";
  const path = source.replace(/^docs\//, "").replace(/\/README\.md$/, ".md");
  return path.includes("/") ? path.replace(/md$/, "html") : path.toLowerCase().replace(/md$/, "html");
}

/** What a token says, without its marks. */
export function plainText(token) {
  if (token.type === "html" || token.type === "image") return "";
  if (token.type === "table") return [...token.header, ...token.rows.flat()].map(plainText).join(" ");
  const parts = token.items ?? token.tokens;
  if (parts === undefined)
    return token.type === "space" ? "" : (token.text ?? "").replace(/&(amp|lt|gt|quot|#39);/g, unescape);
  const between = token.type === "list" || token.type === "list_item" || token.type === "blockquote" ? " " : "";
  return parts.map(plainText).join(between);
}

function unescape(entity) {
  return { "&amp;": "&", "&lt;": "<", "&gt;": ">", "&quot;": '"', "&#39;": "'" }[entity];
}

function sourcesOf(root, source) {
  if (!source.endsWith("/")) return [source];
  return documentsOf(root)
    .filter((name) => name.startsWith(source))
    .toSorted();
}

/** Every document of the repository that somebody reads. What is built, and packages of others, are none. */
function documentsOf(root) {
  const below = (folder) =>
    existsSync(join(root, folder))
      ? readdirSync(join(root, folder), { recursive: true, encoding: "utf8" }).map((name) => `${folder}/${name}`)
      : [];
  const readmes = below("packages").filter((name) => /^packages\/[^/]+\/README\.md$/.test(name));
  return [...readdirSync(root), ...below("docs"), ...below("examples"), ...readmes].filter(
    (name) => name.endsWith(".md") && !name.includes("node_modules/"),
  );
}
