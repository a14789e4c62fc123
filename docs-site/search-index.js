// What the search field finds: each section of each page, by its headings and its text.
import MiniSearch from "minisearch";
import { plainText } from "./pages.js";

// It is a script of pages, and exports nothing.
await import("./assets/search-options.js");

/** The sections of all pages: what stands below a heading until the next one. */
export function sectionsOf(pages) {
  return pages.flatMap((page) => {
    const sections = [{ id: page.address, page: page.title, group: page.group, heading: page.title, text: "" }];
    for (const token of page.tokens) {
      if (token === page.headings[0]) continue;
      if (token.type === "heading") {
        const { group, title } = page;
        sections.push({ id: `${page.address}#${token.id}`, page: title, group, heading: plainText(token), text: "" });
      } else {
        const section = sections.at(-1);
        section.text = `${section.text} ${plainText(token)}`.replaceAll(/\s+/g, " ").trim();
      }
    }
    // These lead elsewhere and say nothing themselves.
    return sections.filter(({ heading }) => heading !== "Read on");
  });
}

/** The index as a script, because a page that was opened from a folder may not read any other file. */
export function searchIndex(pages) {
  const search = new MiniSearch(globalThis.searchOptions);
  search.addAll(sectionsOf(pages));
  return `globalThis.searchIndex = ${JSON.stringify(search)};\n`;
}
