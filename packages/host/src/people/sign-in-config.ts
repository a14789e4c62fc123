import { CapabilitySchema, IdentifierSchema, parsePrincipal, PurposeSchema } from "turnpike/contracts";
import { z } from "zod";
import { operatorsTenant, OperatorRoleSchema } from "../admin-contract/index.ts";
import { columnText, FileNameSchema, isLoopback } from "../shared/index.ts";

const ClaimNameSchema = z.string().min(1).max(256);

/** A tenant that people may be in. INVARIANT: no person is in the operators' tenant, whatever a claim says. */
export const PersonTenantSchema = IdentifierSchema.refine(
  (name) => name !== operatorsTenant && columnText(name) === name,
  `expected a tenant other than ${operatorsTenant}`,
);

/** A step of a path that becomes the name of who signs in. */
export const subjectStep = "{subject}";

const HoldSchema = CapabilitySchema.superRefine(({ resource }, { addIssue }) => {
  if (resource.path.some((step) => step !== subjectStep && /[{}]/.test(step)))
    addIssue({
      code: "custom",
      path: ["resource", "path"],
      message: `expected names, or ${subjectStep} as a whole step`,
    });
});

const PeopleSchema = z.strictObject({
  tenant: z
    .union([PersonTenantSchema, z.strictObject({ claim: ClaimNameSchema })])
    .describe("tenant of people, or its claim"),
  subject: z
    .strictObject({ claim: ClaimNameSchema.default("sub"), prefix: z.string().max(64).default("") })
    .prefault({})
    .describe("claim that names a person, and what is put before it"),
  purpose: PurposeSchema.default("work"),
  issuer: z
    .string()
    .refine((text) => parsePrincipal(text) !== undefined, "expected a principal such as service:directory")
    .default("service:directory")
    .describe("principal that grants what people hold"),
  holds: z.array(HoldSchema).max(64).default([]).describe("what a person is granted at the first sign-in"),
});

const OperatorRuleSchema = z
  .strictObject({
    claim: ClaimNameSchema,
    value: z.string().min(1).max(1024),
    role: OperatorRoleSchema,
    tenant: PersonTenantSchema.optional(),
  })
  .describe("who is an operator");

const ProviderSchema = z
  .strictObject({
    issuer: z
      .string()
      .refine(isIssuer, "expected an https URL without query, fragment and credentials; http is for loopback alone"),
    clientId: z.string().min(1).max(1024),
    clientSecretFile: FileNameSchema.optional().describe("file with the client's secret"),
    scopes: z
      .array(z.string().regex(/^[\x21\x23-\x5B\x5D-\x7E]+$/, "expected a scope without spaces"))
      .default(["openid", "profile", "email"])
      .refine((scopes) => scopes.includes("openid"), "expected openid among them"),
    name: z.string().min(1).max(100).optional().describe("what the button says"),
    people: PeopleSchema.optional(),
    operators: z.array(OperatorRuleSchema).min(1).max(256).optional(),
    operatorsOnly: z.boolean().default(false).describe("whether tokens do not open the console"),
  })
  .refine(({ people, operators }) => people !== undefined || operators !== undefined, {
    path: ["people"],
    message: "expected this or operators: no one could sign in",
  })
  .refine(({ operatorsOnly, operators }) => !operatorsOnly || operators !== undefined, {
    path: ["operatorsOnly"],
    message: "expected operators, or no one could open the console",
  });

export const SignInConfigSchema = z
  .union([ProviderSchema, z.array(ProviderSchema).min(1).max(16)])
  .superRefine((given, { addIssue }) => {
    const problem = problemOf([given].flat());
    if (problem !== undefined) addIssue({ code: "custom", message: problem });
  });

/** An identity provider, and who its users are here. */
export type ProviderConfig = z.infer<typeof ProviderSchema>;
/** Who signs in: with one identity provider, or with several. */
export type SignInConfig = z.infer<typeof SignInConfigSchema>;
/** Who may sign in as an operator. */
export type OperatorRule = z.infer<typeof OperatorRuleSchema>;
/** Whom a provider's users are as people, and what they hold. */
export type PeopleConfig = z.infer<typeof PeopleSchema>;

/** The providers of a configuration. */
export function providersOf(config: SignInConfig | undefined): readonly ProviderConfig[] {
  return config === undefined ? [] : [config].flat();
}

/** What a provider is called. */
export function nameOf({ name, issuer }: Pick<ProviderConfig, "name" | "issuer">): string {
  return name ?? new URL(issuer).host;
}

/**
 * Why providers cannot be used together. Two that could name the same person, because what they say is put behind the same letters,
 * could each sign in as a user of the other.
 */
function problemOf(providers: readonly ProviderConfig[]): string | undefined {
  for (const [place, one] of providers.entries()) {
    for (const other of providers.slice(place + 1)) {
      if (nameOf(one) === nameOf(other))
        return `expected a name of its own for each provider, found ${nameOf(one)} twice`;
      if (one.issuer === other.issuer) return `expected each issuer once, found ${one.issuer} twice`;
      if (mayShareTenant(one.people, other.people) && mayShareNames(one.people, other.people))
        return (
          `expected people.subject.prefix of ${nameOf(one)} and of ${nameOf(other)} such that neither begins with the other: ` +
          "their people are in one tenant"
        );
    }
  }
  return undefined;
}

function mayShareTenant(one: PeopleConfig | undefined, other: PeopleConfig | undefined): boolean {
  if (one === undefined || other === undefined) return false;
  return typeof one.tenant === "object" || typeof other.tenant === "object" || one.tenant === other.tenant;
}

function mayShareNames(one: PeopleConfig | undefined, other: PeopleConfig | undefined): boolean {
  const [first, second] = [one?.subject.prefix ?? "", other?.subject.prefix ?? ""];
  return first.startsWith(second) || second.startsWith(first);
}

/** Who can read or change what a provider says in transit may sign in as any user, so beyond this machine TLS is required. */
function isIssuer(text: string): boolean {
  if (!URL.canParse(text)) return false;
  const { protocol, hostname, username, password, search, hash } = new URL(text);
  if ([username, password, search, hash].some((part) => part !== "")) return false;
  return protocol === "https:" || (protocol === "http:" && isLoopback(hostname));
}
