/** What the tests do with a block of a document; tests/support/documents.ts does it. */
const kinds = {
  sh: "Shell, run by the tests",
  "sh ci": "Shell, run by CI",
  "sh examples": "Shell, run by the tests",
  ts: "TypeScript, type-checked",
  "ts run": "TypeScript, run by the tests",
  "ts sketch": "TypeScript, a sketch",
  "text output": "Prints, compared by the tests",
  text: "",
};

/** Labels each block with what the tests do with it, instead of with its language alone. */
export function checkedBlocks(md) {
  const { fence } = md.renderer.rules;
  md.renderer.rules.fence = (tokens, index, ...rest) =>
    fence(tokens, index, ...rest).replace(
      /<span class="lang">(.*?)<\/span>/,
      (_, language) => `<span class="lang">${kinds[tokens[index].info] ?? language}</span>`,
    );
}

/** Puts each drawing into a frame that scrolls, also by keyboard, where the screen is narrower than the drawing. */
export function wideDrawings(md) {
  const { image } = md.renderer.rules;
  md.renderer.rules.image = (tokens, index, ...rest) => {
    const picture = image(tokens, index, ...rest);
    const isDrawing = tokens[index].attrGet("src").endsWith(".svg");
    return isDrawing ? `<span class="drawing" tabindex="0">${picture}</span>` : picture;
  };
}
