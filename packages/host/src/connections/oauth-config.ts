import { z } from "zod";
import { positive } from "../shared/index.ts";
import { RedirectUriSchema } from "./redirects.ts";

const ConfiguredClientSchema = z.strictObject({
  clientId: z
    .string()
    .regex(/^[A-Za-z0-9_.~-]{1,128}$/, "expected letters, digits, and . _ ~ -")
    .refine(
      (id) => !id.startsWith("dyn-"),
      "expected another beginning: dyn- is of clients that registered themselves",
    ),
  name: z.string().min(1).max(100).describe("what people are told who asks"),
  redirectUris: z.array(RedirectUriSchema).min(1).max(20),
});

export const OAuthConfigSchema = z.strictObject({
  enabled: z.boolean().default(true).describe("whether people who sign in may let clients act for them"),
  accessTokenMinutes: positive.max(1440).default(60).describe("minutes for which the token of a connection lasts"),
  refreshDays: positive
    .max(365)
    .default(30)
    .describe("days after which a connection that was not used needs the person again"),
  dcr: z.boolean().default(true).describe("whether clients may register themselves"),
  clients: z
    .array(ConfiguredClientSchema)
    .max(100)
    .default([])
    .refine((clients) => new Set(clients.map(({ clientId }) => clientId)).size === clients.length, {
      message: "expected each clientId once",
    })
    .describe("clients that need not register"),
});

/** Whether and how clients get to act for people. */
export type OAuthConfig = z.infer<typeof OAuthConfigSchema>;
