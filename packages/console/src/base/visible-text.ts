/** Part of a text: as it is, or one character of it that nobody would see, by its number. */
export interface VisiblePart {
  text: string;
  isHidden: boolean;
}

// Controls, formats such as directions and zero widths, halves of characters, and whatever else Unicode has programs not show.
const hidden = /[\p{Cc}\p{Cf}\p{Cs}\p{Zl}\p{Zp}\p{Default_Ignorable_Code_Point}\u{FFF9}-\u{FFFB}]/gu;

/** A text of somebody else in which nothing is hidden: each character that is not seen is written as `<U+202E>`, as the command does. */
export function visibleText(text: string): string {
  return text.replaceAll(hidden, (character) => {
    const number = (character.codePointAt(0) ?? 0).toString(16).toUpperCase().padStart(4, "0");
    return `<U+${number}>`;
  });
}

/** The same in parts, so that what was hidden can be told from a text that only looks like it. */
export function visibleParts(text: string): VisiblePart[] {
  const parts: VisiblePart[] = [];
  let end = 0;
  for (const match of text.matchAll(hidden)) {
    if (match.index > end) parts.push({ text: text.slice(end, match.index), isHidden: false });
    parts.push({ text: visibleText(match[0]), isHidden: true });
    end = match.index + match[0].length;
  }
  if (end < text.length) parts.push({ text: text.slice(end), isHidden: false });
  return parts;
}
