import { sha256 } from "turnpike/contracts";

/** A caller's text as a column keeps it: what PostgreSQL cannot store, or would merge with others, is kept as its hash. */
export function columnText(text: string): string {
  const isStorable = !text.includes("\0") && !/\p{Cs}/u.test(text);
  return isStorable ? text : `sha256:${sha256(JSON.stringify(text))}`;
}
