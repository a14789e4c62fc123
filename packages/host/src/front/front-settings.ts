import { z } from "zod";
import { FileNameSchema, limitSchemas } from "../shared/index.ts";

export const ListenSchema = z.strictObject({
  host: z.string().min(1).default("127.0.0.1"),
  port: z.int().min(0).max(65_535).default(8787),
  insecure: z.boolean().default(false).describe("listen beyond loopback without TLS"),
});

export const TlsSchema = z.strictObject({
  certFile: FileNameSchema,
  keyFile: FileNameSchema,
  clientCaFile: FileNameSchema.optional().describe("authorities whose client certificates are trusted"),
  clientCertificates: z
    .enum(["optional", "required"])
    .default("optional")
    .describe("whether a connection without a client certificate is refused"),
});

const origin = /^https?:\/\/(\[[0-9a-fA-F:.]+\]|[\w.-]+)(:\d{1,5})?\/?$/;

/** The origin under which clients reach the host, when that is not where it listens. */
export const PublicUrlSchema = z
  .string()
  .refine((text) => origin.test(text) && URL.canParse(text), "expected an origin such as https://gate.example.com")
  .describe("origin under which clients reach the host");

/** The limits on what arrives at the socket. */
const WireLimitsSchema = z.strictObject(
  limitSchemas("bodyBytes", "headers", "headersMs", "bodyMs", "idleMs", "sockets", "shutdownMs"),
);

export type WireLimits = z.infer<typeof WireLimitsSchema>;

/** Where the host listens, and its limits there. */
export interface FrontSettings {
  listen: z.infer<typeof ListenSchema>;
  tls?: z.infer<typeof TlsSchema> | undefined;
  limits: WireLimits;
}
