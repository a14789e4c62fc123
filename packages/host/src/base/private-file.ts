import { chmodSync, mkdirSync, writeFileSync } from "node:fs";
import { dirname } from "node:path";

/** Writes a file for its owner's eyes alone, also when it was there before with other permissions. */
export function writePrivate(file: string, text: string): void {
  mkdirSync(dirname(file), { recursive: true, mode: 0o700 });
  writeFileSync(file, "", { mode: 0o600 });
  chmodSync(file, 0o600);
  writeFileSync(file, text);
}
