import { cpSync, existsSync, statSync } from "node:fs";
import { dirname, join } from "node:path";
import { pages, root } from "./contents.js";

/** The icon of the site. */
export const icon = "packages/console/src/icon.svg";

/** Files of the repository that pages need and that are no pages. The site has a copy of each. */
const files = new Set([icon]);

/**
 * Adapts the links of a document, which are written for its place in the repository: a link to a document leads to its page, one to a
 * folder to the first page in it, and one to any other file to the site's copy of it. A link to nothing fails the build.
 */
export function repositoryLinks(md) {
  md.core.ruler.push("repository_links", ({ tokens, env: { relativePath } }) => {
    // The path of the page when the page is made, of the document when it is read for the search.
    const page = pages.find(({ source, target }) => source === relativePath || target === relativePath);
    for (const token of tokens.flatMap((block) => block.children ?? [])) {
      if (token.type === "link_open") adapt(token, page?.source ?? relativePath);
    }
  });
}

/** Writes the copies into the finished site. */
export function copyFiles({ outDir }) {
  for (const file of files) cpSync(join(root, file), join(outDir, "files", file));
}

function adapt(link, from) {
  const [path, heading] = decodeURI(link.attrGet("href")).split("#");
  if (path === "" || /^[a-z]+:/.test(path)) return;
  const source = join(dirname(from), path).replace(/\/$/, "");
  if (source.startsWith("..") || !existsSync(join(root, source))) throw new Error(`${from}: ${path} leads to no file.`);
  const isFolder = statSync(join(root, source)).isDirectory();
  const page = pages.find((one) => (isFolder ? one.source.startsWith(`${source}/`) : one.source === source));
  if (page !== undefined) {
    link.attrSet("href", `/${page.target}${heading === undefined ? "" : `#${heading}`}`);
  } else if (isFolder) {
    throw new Error(`${from}: ${path} is a folder without a page.`);
  } else {
    files.add(source);
    link.attrSet("href", `/files/${source}`);
    // To the router of the site it is no page.
    link.attrSet("target", "_self");
  }
}
