import { jsonReply, type Reply, ServiceHttpError } from "turnpike/http";
import { version } from "../../shared/index.ts";
import type { IncomingRequest, ServedProtocol } from "../../front/index.ts";
import { builtFolder, type ConsoleFile, readConsoleFiles } from "./console-files.ts";

const root = "/console";
const docs = "/docs";
const me = "/me";

/** The page loads and calls nothing but this host, and no other page may embed it. */
const policy = [
  "default-src 'none'",
  "script-src 'self'",
  "style-src 'self'",
  "img-src 'self'",
  "connect-src 'self'",
  "base-uri 'none'",
  "form-action 'none'",
  "frame-ancestors 'none'",
  "require-trusted-types-for 'script'",
  "trusted-types 'none'",
].join("; ");

const safety = {
  "content-security-policy": policy,
  "referrer-policy": "no-referrer",
  "cross-origin-opener-policy": "same-origin",
  "cross-origin-resource-policy": "same-origin",
};

/**
 * The page for operators below `/console`, that of a person at `/me`, the description of the API at `/docs`, and `/`, which leads browsers to the first.
 * None of them needs a credential or contains any data of the host.
 */
export function consoleProtocol(folder = builtFolder): ServedProtocol {
  const files = readConsoleFiles(folder);
  return {
    owns: (path) => path === "/" || path === docs || path === me || path === root || path.startsWith(`${root}/`),
    // The paths under which metrics count requests.
    paths: [
      "/",
      docs,
      me,
      root,
      `${root}/`,
      `${root}/assets/{file}`,
      `${root}/{tenant}`,
      `${root}/{tenant}/{screen}`,
      `${root}/{tenant}/{screen}/{id}`,
    ],
    async serve(incoming) {
      const { request, path, record } = incoming;
      Object.assign(record.headers, safety);
      if (request.method !== "GET" && request.method !== "HEAD")
        throw new ServiceHttpError(405, "method_not_allowed", "This path knows GET, HEAD.", {
          headers: { allow: "GET, HEAD" },
        });
      const answer = path === "/" ? answerRoot(incoming) : answerFile(files, incoming);
      return Promise.resolve(answer);
    },
  };
}

function answerRoot({ request, record }: IncomingRequest): Reply {
  record.headers["vary"] = "accept";
  if (request.headers.get("accept")?.includes("text/html") === true)
    return { status: 303, headers: { location: root }, body: null };
  const about = { name: "turnpike", version, console: root, docs, openapi: "/openapi.json" };
  return withoutBody(request.method, jsonReply(about));
}

function answerFile(files: ReadonlyMap<string, ConsoleFile> | undefined, incoming: IncomingRequest): Reply | Response {
  const { request, path, record } = incoming;
  if (files === undefined) return withoutBody(request.method, notBuilt);
  const page = path === docs ? "docs.html" : path === me ? "me.html" : undefined;
  const name = page ?? path.slice(root.length + 1);
  const isAsset = name.startsWith("assets/");
  // Every other address belongs to a screen.
  const file = files.get(isAsset || page !== undefined ? name : "index.html");
  if (file === undefined) throw new ServiceHttpError(404, "not_found", "The console has no such file.");
  // The name of an asset contains a hash of its content.
  record.headers["cache-control"] = isAsset ? "public, max-age=31536000, immutable" : "no-cache";
  record.headers["vary"] = "accept-encoding";
  const isGzipped = takesGzip(request.headers.get("accept-encoding"));
  const bytes = isGzipped ? file.gzipped : file.bytes;
  const headers = {
    "content-type": file.type,
    "content-length": String(bytes.length),
    ...(isGzipped && { "content-encoding": "gzip" }),
  };
  if (request.method === "HEAD") return { status: 200, headers, body: null };
  return new Response(bytes, { headers });
}

const notBuilt: Reply = {
  status: 503,
  headers: { "content-type": "text/plain; charset=utf-8" },
  body: "The console is not built. In a clone of the repository, `npm run build` builds it; then start the host again.\n",
};

function withoutBody(method: string, reply: Reply): Reply {
  return method === "HEAD" ? { ...reply, body: null } : reply;
}

/** Whether a browser takes gzip: `gzip;q=0` says that it does not. */
function takesGzip(accepted: string | null): boolean {
  return (accepted ?? "").split(",").some((coding) => {
    const [name = "", quality = ""] = coding.split(";").map((part) => part.trim().toLowerCase());
    return name === "gzip" && !/^q=0(\.0*)?$/.test(quality);
  });
}
