import { existsSync, readdirSync, readFileSync } from "node:fs";
import { extname, join, sep } from "node:path";
import { gzipSync } from "node:zlib";
import { packageFolder } from "../../shared/index.ts";

/** One file of the page, as it is sent. */
export interface ConsoleFile {
  type: string;
  bytes: Uint8Array<ArrayBuffer>;
  gzipped: Uint8Array<ArrayBuffer>;
}

/** Where the build puts the page. */
export const builtFolder: string = join(packageFolder, "dist/console");

const types: Readonly<Record<string, string>> = {
  ".html": "text/html; charset=utf-8",
  ".js": "text/javascript; charset=utf-8",
  ".css": "text/css; charset=utf-8",
  ".md": "text/plain; charset=utf-8",
  ".svg": "image/svg+xml",
  ".png": "image/png",
  ".woff2": "font/woff2",
};

/**
 * The files of the page by their names, such as `assets/index-1a2b.js`; undefined when it was not built. All are read here, so
 * that no request can name another file on the disk.
 */
export function readConsoleFiles(folder: string): ReadonlyMap<string, ConsoleFile> | undefined {
  if (!existsSync(join(folder, "index.html"))) return undefined;
  const names = readdirSync(folder, { recursive: true, withFileTypes: true })
    .filter((entry) => entry.isFile())
    .map(({ parentPath, name }) => join(parentPath, name).slice(folder.length + 1));
  return new Map(names.map((name) => [name.split(sep).join("/"), readFile(join(folder, name))]));
}

/** Compresses a file on its first request, so that hosts start sooner. Many are never opened in a browser. */
function readFile(path: string): ConsoleFile {
  const bytes = Uint8Array.from(readFileSync(path));
  let gzipped: ConsoleFile["gzipped"] | undefined;
  return {
    type: types[extname(path)] ?? "application/octet-stream",
    bytes,
    get gzipped() {
      return (gzipped ??= Uint8Array.from(gzipSync(bytes, { level: 9 })));
    },
  };
}
