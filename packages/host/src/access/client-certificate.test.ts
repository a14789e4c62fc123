import { execFile } from "node:child_process";
import { X509Certificate } from "node:crypto";
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { promisify } from "node:util";
import { afterAll, describe, expect, test } from "vitest";
import { makeCertificate } from "../../test/certificates.ts";
import { describeCertificate, isUsableOver } from "./client-certificate.ts";

const folder = mkdtempSync(join(tmpdir(), "turnpike-certificates-"));
afterAll(() => rmSync(folder, { recursive: true }));

async function namesOf(names: string): Promise<readonly string[]> {
  const { certFile } = await makeCertificate(folder, "one", { names });
  return namesIn(certFile);
}

function namesIn(certFile: string): readonly string[] {
  const certificate = new X509Certificate(readFileSync(certFile));
  const [fingerprint, ...others] = describeCertificate(certificate).names;
  expect(fingerprint).toBe(`sha256:${certificate.fingerprint256.replaceAll(":", "").toLowerCase()}`);
  return others;
}

describe("a certificate is called", () => {
  test("by its URIs and DNS names, and by nothing else that is in it", async () => {
    expect(
      await namesOf("URI:spiffe://acme/assistant,DNS:Assistant.acme.example,email:a@b.example,IP:10.0.0.1"),
    ).toEqual(["uri:spiffe://acme/assistant", "dns:assistant.acme.example"]);
  });

  test("by its fingerprint alone when one of its names could be read as several", async () => {
    const [config, certFile] = [join(folder, "names.cnf"), join(folder, "names.pem")];
    const name = "[name]\nURI.1 = spiffe://acme/a, DNS:admin.acme.example\n";
    writeFileSync(config, `[req]\ndistinguished_name = dn\n[dn]\n[v3]\nsubjectAltName = @name\n${name}`);
    const command = `req -x509 -newkey ed25519 -nodes -subj /CN=a -config ${config} -extensions v3 -keyout ${certFile}.key`;
    await promisify(execFile)("openssl", [...command.split(" "), "-out", certFile]);
    expect(namesIn(certFile)).toEqual([]);
  });

  test("by its fingerprint alone when it has no names", async () => {
    expect(await namesOf("")).toEqual([]);
  });
});

describe("a credential that names a certificate", () => {
  const now = new Date("2026-01-01T12:00:00Z");
  const shown = { names: ["sha256:00", "uri:spiffe://acme/assistant"], validUntil: now.getTime() + 1 };

  test("is used over a connection that shows it", () => {
    expect(isUsableOver({ certificate: "uri:spiffe://acme/assistant" }, shown, now)).toBe(true);
    expect(isUsableOver({}, undefined, now)).toBe(true);
  });

  for (const row of [
    { name: "over a connection without one", over: undefined },
    { name: "over one that shows another", over: { ...shown, names: ["uri:spiffe://acme/other"] } },
    {
      name: "once the certificate has expired, on a connection that has not",
      over: { ...shown, validUntil: now.getTime() },
    },
  ])
    test(`is not used ${row.name}`, () => {
      expect(isUsableOver({ certificate: "uri:spiffe://acme/assistant" }, row.over, now)).toBe(false);
    });
});
