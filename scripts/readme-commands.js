// Prints the command lines of the README that CI runs: those in blocks tagged "sh ci".
import { readFileSync } from "node:fs";

const readme = readFileSync(new URL("../README.md", import.meta.url), "utf8");

for (const [, commands] of readme.matchAll(/^```sh ci\n(.*?)^```$/gms)) process.stdout.write(commands);
