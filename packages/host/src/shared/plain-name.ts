import { unprintable } from "../display/index.ts";

/** Characters that are not shown, or that look like a space and are none. */
const unseen = new RegExp(String.raw`${unprintable}|[^\S ]|\u{2800}`, "u");

/** Whether no one could take a name for another one that only looks the same, by how it is written. */
export function isPlainName(name: string): boolean {
  return name === name.normalize("NFC") && name === name.trim() && !unseen.test(name);
}
