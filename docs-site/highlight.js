// Colours for the languages that the documents have, at build time: enough to read by, not a parser.

const script =
  /(?<comment>\/\/.*|\/\*[^]*?\*\/)|(?<string>"(?:\\.|[^"\\\n])*"|'(?:\\.|[^'\\\n])*'|`(?:\\.|[^`\\])*`)|(?<word>\b(?:as|async|await|break|case|catch|class|const|continue|default|else|export|extends|false|finally|for|from|function|if|implements|import|in|interface|let|new|null|of|return|satisfies|switch|this|throw|true|try|type|typeof|undefined|while)\b)|(?<number>\b\d[\d_.]*\b)/g;
const shell =
  /(?<comment>(?<=^|\s)#.*)|(?<string>"(?:\\.|[^"\\])*"|'[^']*')|(?<number>\$(?:\w+|\{[^}]*\}|[?!@#]))|(?<word>(?<=\s)--?[a-z][\w-]*)/gm;
const json =
  /(?<word>"(?:\\.|[^"\\\n])*"(?=\s*:))|(?<string>"(?:\\.|[^"\\\n])*")|(?<number>\b(?:true|false|null|\d[\d.]*)\b)/g;

const languages = { ts: script, js: script, sh: shell, json };

/** The code as HTML, with spans for what has a colour. */
export function highlight(code, language) {
  const pattern = languages[language];
  if (pattern === undefined) return escapeHtml(code);
  let html = "";
  let end = 0;
  for (const match of code.matchAll(pattern)) {
    const kind = Object.entries(match.groups).find(([, text]) => text !== undefined)[0];
    html += `${escapeHtml(code.slice(end, match.index))}<span class="${kind}">${escapeHtml(match[0])}</span>`;
    end = match.index + match[0].length;
  }
  return html + escapeHtml(code.slice(end));
}

export function escapeHtml(text) {
  return text.replaceAll("&", "&amp;").replaceAll("<", "&lt;").replaceAll(">", "&gt;").replaceAll('"', "&quot;");
}
