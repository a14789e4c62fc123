import { execFile } from "node:child_process";
import { readFileSync } from "node:fs";
import { request } from "node:https";
import { join } from "node:path";
import { promisify } from "node:util";

/** The files of a certificate and of its key. */
export interface CertificateFiles {
  certFile: string;
  keyFile: string;
}

/** Makes a certificate in a folder: of an authority, or issued by one for these names, such as `DNS:localhost`. */
export async function makeCertificate(
  folder: string,
  name: string,
  { names = "", issuer }: { names?: string; issuer?: CertificateFiles } = {},
): Promise<CertificateFiles> {
  const files = { certFile: join(folder, `${name}.pem`), keyFile: join(folder, `${name}.key`) };
  const key = "-newkey ec -pkeyopt ec_paramgen_curve:prime256v1 -nodes -days 2";
  await promisify(execFile)("openssl", [
    ...`req -x509 ${key} -subj /CN=${name}`.split(" "),
    ...(issuer === undefined
      ? []
      : ["-CA", issuer.certFile, "-CAkey", issuer.keyFile, "-addext", "basicConstraints=critical,CA:FALSE"]),
    ...(names === "" ? [] : ["-addext", `subjectAltName=${names}`]),
    "-keyout",
    files.keyFile,
    "-out",
    files.certFile,
  ]);
  return files;
}

/** What a client shows of itself, and whom it trusts. */
export function clientOf(files: CertificateFiles | undefined, trusts: CertificateFiles) {
  return {
    ca: readFileSync(trusts.certFile),
    ...(files && { cert: readFileSync(files.certFile), key: readFileSync(files.keyFile) }),
  };
}

/** What a request over TLS brings. */
export interface SentOverTls {
  client?: CertificateFiles;
  token?: string;
  /** Both halves of a session, as `askOverTls` found them in the answer that began it. */
  session?: TlsSession;
  headers?: Readonly<Record<string, string>>;
  body?: object;
}

export interface TlsSession {
  cookie: string;
  page: string;
}

/** Sends a request over a connection of its own. */
export function askOverTls(
  url: URL,
  { client, token, session, headers: more, body }: SentOverTls,
  trusts: CertificateFiles,
): Promise<{ status: number; session: TlsSession; text: string }> {
  const headers = {
    ...(token !== undefined && { authorization: `Bearer ${token}` }),
    ...(session && { cookie: session.cookie, "x-turnpike-console": session.page }),
    ...(body && { "content-type": "application/json" }),
    ...more,
  };
  const options = { method: body ? "POST" : "GET", headers, agent: false, ...clientOf(client, trusts) };
  return new Promise((resolve, reject) => {
    const sent = request(url, options, (response) => {
      let text = "";
      response.setEncoding("utf8").on("data", (part: string) => (text += part));
      const cookie = response.headers["set-cookie"]?.[0]?.split(";")[0] ?? "";
      response.on("end", () => {
        const [, page = ""] = /"pageSecret":"([0-9a-f]+)"/.exec(text) ?? [];
        resolve({ status: response.statusCode ?? 0, session: { cookie, page }, text });
      });
    });
    sent.on("error", reject).end(body && JSON.stringify(body));
  });
}
