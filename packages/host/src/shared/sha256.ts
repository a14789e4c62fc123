import { hash } from "node:crypto";

/** SHA-256 of a text as hex digits. */
export function sha256(text: string): string {
  return hash("sha256", text);
}
