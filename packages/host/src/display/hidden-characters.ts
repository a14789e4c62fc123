/**
 * Characters that hide text, or make it read as something else: controls other than tab and line feed, halves of
 * characters, everything that Unicode has programs not show (zero-width, direction, tags, variation selectors, fillers),
 * and the marks of annotations. The inside of a class, for expressions with the flag `u`.
 */
export const hidden = String.raw`\0-\x08\x0B-\x1F\x7F-\x9F\p{Cs}\p{Default_Ignorable_Code_Point}\u{FFF9}-\u{FFFB}`;

/** The class of the characters that a terminal may obey or not show, for expressions with the flag `u`. */
export const unprintable = String.raw`[${hidden}\p{Cc}\p{Cf}\p{Zl}\p{Zp}]`;
