// Where a link of a document leads on the site.
import { existsSync, statSync } from "node:fs";
import { posix } from "node:path";

/**
 * Makes what turns a link of one page into one of the site. A document becomes its page, a folder the first page in it, and any
 * other file is taken along: it is added to `files`. What leads nowhere goes to `problems`.
 */
export function createLinks(root, pages, files, problems) {
  const bySource = new Map(pages.map((page) => [page.source, page]));
  const firstIn = (folder) =>
    bySource.get(`${folder}/README.md`) ?? pages.find(({ source }) => source.startsWith(`${folder}/`));

  return function linkFrom(page, href, isImage = false) {
    const refuse = (why) => {
      problems.push(`${page.source}: ${href} ${why}`);
      return href;
    };
    if (/^[a-z][a-z\d+.-]*:/i.test(href) || href.startsWith("//")) {
      return isImage ? refuse("is a picture of another server, and the site asks nobody.") : href;
    }
    const [path = "", anchor] = decodeURI(href).split("#", 2);
    const source = path === "" ? page.source : posix.join(posix.dirname(page.source), path).replace(/\/$/, "");
    if (source.startsWith("../") || !existsSync(posix.join(root, source))) return refuse("leads to no file.");
    const isFolder = statSync(posix.join(root, source)).isDirectory();
    const target = isFolder ? firstIn(source) : bySource.get(source);
    if (target === undefined) {
      if (isFolder) return refuse("is a folder without a page.");
      if (source.endsWith(".md")) return refuse("is a document that is not in docs-site/contents.json.");
      files.add(source);
      return relative(page.address, `files/${source}`);
    }
    if (anchor !== undefined && !target.anchors.has(anchor)) return refuse("names a heading that is not there.");
    const address = target === page ? "" : relative(page.address, target.address);
    return anchor === undefined ? address || posix.basename(page.address) : `${address}#${anchor}`;
  };
}

/** The way from one address of the site to another, which works from a folder as from a server. */
export function relative(from, to) {
  return posix.relative(posix.dirname(from), to);
}
