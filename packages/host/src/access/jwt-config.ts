import { z } from "zod";
import { isLoopback } from "../shared/index.ts";

/** Asymmetric algorithms only. With a shared secret, every verifier of tokens could also issue them. */
const algorithms = [
  "RS256",
  "RS384",
  "RS512",
  "PS256",
  "PS384",
  "PS512",
  "ES256",
  "ES384",
  "ES512",
  "EdDSA",
  "Ed25519",
] as const;

export const JwtConfigSchema = z.strictObject({
  jwks: z
    .string()
    .min(1)
    .refine(isKeySetSafe, "expected a file, or an https URL without user and password")
    .describe("URL or file of the key set"),
  issuer: z.string().min(1),
  audience: z.string().min(1),
  algorithms: z.array(z.enum(algorithms)).min(1).default(["RS256", "ES256", "EdDSA"]),
  types: z.array(z.string().min(1)).min(1).optional().describe("`typ` that tokens must have"),
  claims: z
    .strictObject({
      tenant: z.string().default("tenant"),
      actor: z.string().default("sub"),
      owner: z.string().optional(),
      authority: z.string().optional(),
      purposes: z.string().default("scope"),
      senders: z.string().optional(),
      evaluates: z.string().optional().describe("claim that is true where a token may ask about others"),
      kind: z
        .enum(["human", "agent", "group", "service"])
        .optional()
        .describe("kind of principals whose claims are bare ids"),
    })
    .prefault({}),
});

/** How tokens of an identity provider become credentials. */
export type JwtConfig = z.infer<typeof JwtConfigSchema>;

/** Whether a key set is fetched from a URL, and not read from a file. */
export function isKeySetUrl(jwks: string): boolean {
  return /^https?:/i.test(jwks);
}

/** An attacker who can change keys in transit can sign tokens, so beyond this machine TLS is required. */
function isKeySetSafe(jwks: string): boolean {
  if (!isKeySetUrl(jwks)) return true;
  if (!URL.canParse(jwks)) return false;
  const { protocol, hostname, username, password } = new URL(jwks);
  return username + password === "" && (protocol === "https:" || isLoopback(hostname));
}
