import { execFile } from "node:child_process";
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { promisify } from "node:util";

/** The files of a certificate and of its key. */
export interface CertificateFiles {
  certFile: string;
  keyFile: string;
}

/** Makes a certificate in a folder: of an authority, or issued by one to somebody of these names, such as `DNS:localhost`. */
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
