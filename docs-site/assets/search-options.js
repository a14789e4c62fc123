// How the index is made, and how a page reads it: a script of pages, which the build loads as well, so that both agree.
globalThis.searchOptions = {
  fields: ["page", "heading", "text"],
  storeFields: ["page", "group", "heading", "text"],

  /** Names such as `replay_pending`, `x-trace-id` and `/v1/turns` are found whole and by their parts. */
  tokenize(text) {
    return text
      .split(/[^\p{L}\p{N}_./-]+/u)
      .map((word) => word.replaceAll(/^[./-]+|[./-]+$/g, ""))
      .flatMap((word) => (/[_./-]/.test(word) ? [word, ...word.split(/[_./-]+/)] : [word]))
      .filter((word) => word !== "");
  },

  /** The beginning of a word is enough, and so is one with a slip of the pen; a heading counts more than a text. */
  searchOptions: {
    boost: { page: 0.5, heading: 4 },
    combineWith: "AND",
    prefix: true,
    fuzzy: (word) => (word.length > 4 ? 0.2 : false),
  },
};
