// Makes the site of all documents, or says what is wrong with them.
import { cpSync, mkdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { fileURLToPath } from "node:url";
import { createLinks } from "./links.js";
import { readPages } from "./pages.js";
import { renderPage } from "./render.js";
import { searchIndex } from "./search-index.js";
import { pageHtml } from "./template.js";

const here = (path) => fileURLToPath(new URL(path, import.meta.url));

/** Writes the site of the documents below `root` into `out`. With problems nothing is written, and they are returned. */
export function buildSite({ root, contents, out }) {
  const problems = [];
  const files = new Set();
  const pages = readPages(root, contents, problems);
  const link = createLinks(root, pages, files, problems);
  const bodies = pages.map((page) => renderPage(page, link));
  if (problems.length > 0) return { problems, pages: [] };

  rmSync(out, { recursive: true, force: true });
  const write = (path, text) => {
    mkdirSync(dirname(join(out, path)), { recursive: true });
    writeFileSync(join(out, path), text);
  };
  for (const [at, page] of pages.entries()) write(page.address, pageHtml(page, bodies[at], pages));
  for (const file of files) cpSync(join(root, file), join(out, "files", file));
  cpSync(here("assets"), join(out, "assets"), { recursive: true });
  cpSync(here("../packages/console/src/icon.svg"), join(out, "assets/icon.svg"));
  // Its map is not taken along, so that nobody looks for it.
  const library = readFileSync(here("node_modules/minisearch/dist/umd/index.js"), "utf8");
  write("assets/minisearch.js", library.replace(/\n\/\/# sourceMappingURL=.*/, ""));
  write("assets/search-index.js", searchIndex(pages));
  return { problems, pages };
}
