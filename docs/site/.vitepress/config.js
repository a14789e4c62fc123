import { createRequire } from "node:module";
import { join } from "node:path";
import { pages, root, sidebar } from "./contents.js";
import { copyFiles, icon, repositoryLinks } from "./links.js";
import { checkedBlocks, wideDrawings } from "./markdown.js";

const tools = createRequire(join(root, "checks/package.json"));
const listed = new Set(pages.map(({ source }) => source));

/** `npm run docs` makes a site of the repository's documents, which are written to be read in the repository as well. */
export default {
  title: "Turnpike",
  description: "A gate that every agent turn, tool call, resource operation and message passes.",
  srcDir: root,
  srcExclude: ["checks/**", "tests/support/fixtures/**"],
  outDir: join(root, ".build/site"),
  cacheDir: join(root, ".build/site-cache"),
  rewrites: Object.fromEntries(pages.map(({ source, target }) => [source, target])),
  appearance: "force-auto",
  head: [["link", { rel: "icon", type: "image/svg+xml", href: `/files/${icon}` }]],
  transformPageData({ filePath }) {
    if (!listed.has(filePath)) throw new Error(`${filePath} is not in docs/site/.vitepress/contents.js. Add it there.`);
  },
  buildEnd: copyFiles,
  markdown: {
    theme: { light: "github-light-high-contrast", dark: "github-dark-high-contrast" },
    config: (md) => md.use(repositoryLinks).use(checkedBlocks).use(wideDrawings),
    // As GitHub does it, so that a link to a heading works in both places.
    anchor: {
      slugify: (text) =>
        text
          .trim()
          .toLowerCase()
          .replaceAll(/[^\p{L}\p{M}\p{N}\p{Pc} -]/gu, "")
          .replaceAll(" ", "-"),
    },
  },
  themeConfig: {
    sidebar,
    outline: [2, 3],
    search: {
      provider: "local",
      options: {
        translations: {
          button: { buttonText: "Search (press /)", buttonAriaLabel: "Search (press /)" },
          modal: { noResultsText: "Nothing has these words:" },
        },
        miniSearch: {
          options: {
            /** Names such as `replay_pending`, `x-trace-id` and `/v1/turns` are found whole and by their parts. */
            tokenize: (text) =>
              text
                .split(/[^\p{L}\p{N}_./-]+/u)
                .map((word) => word.replaceAll(/^[./-]+|[./-]+$/g, ""))
                .flatMap((word) => (/[_./-]/.test(word) ? [word, ...word.split(/[_./-]+/)] : [word]))
                .filter((word) => word !== ""),
          },
          searchOptions: {
            combineWith: "AND",
            fuzzy: 0.2,
            prefix: true,
            boost: { title: 4, text: 2, titles: 1 },
            /** A page of a name is found before the sections of that name. */
            boostDocument: (_id, _word, { titles }) => (titles.length === 0 ? 2 : 1),
          },
        },
      },
    },
  },
  vite: {
    // The tools are not above this folder, where Node would look for them.
    resolve: { alias: { "vitepress/theme-without-fonts": tools.resolve("vitepress/theme-without-fonts") } },
    ssr: { noExternal: true },
    build: { chunkSizeWarningLimit: 1200, assetsInlineLimit: 0 },
  },
};
