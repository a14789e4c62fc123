import {
  ActionSchema,
  describeIssues,
  IdentifierSchema,
  parsePrincipal,
  PathSchema,
  PurposeSchema,
  type PrincipalRef,
} from "turnpike/contracts";
import { ServiceHttpError } from "turnpike/http";
import { z } from "zod";

/** How many evaluations one request may hold. */
const maxEvaluations = 256;

// Keys that are not named here are ignored: the specification wants that, and what a caller states about anybody
// (`properties`) is not believed anyway.

const SubjectSchema = z
  .object({ type: z.enum(["human", "agent", "group", "service"]), id: IdentifierSchema })
  .transform(({ type, id }): PrincipalRef => parsePrincipal(`${type}:${id}`) ?? z.NEVER);

/** A path: its segments percent-encoded, with slashes between them. Nothing at all is the root. */
const ResourceIdSchema = z
  .string()
  .transform((id, { addIssue }): string[] => {
    try {
      return id === "" ? [] : id.split("/").map(decodeURIComponent);
    } catch {
      addIssue({ code: "custom", message: "expected percent-encoded segments with slashes between them" });
      return z.NEVER;
    }
  })
  .pipe(PathSchema);

const PrincipalTextSchema = z.string().transform((text, { addIssue }): PrincipalRef => {
  const principal = parsePrincipal(text);
  if (principal === undefined) addIssue({ code: "custom", message: "expected kind:id, such as human:alice" });
  return principal ?? z.NEVER;
});

const ContextSchema = z.object({
  tenant: IdentifierSchema.optional(),
  owner: PrincipalTextSchema.optional(),
  authority: PrincipalTextSchema.optional(),
  purpose: PurposeSchema.optional(),
});

const EvaluationSchema = z.object({
  subject: SubjectSchema,
  action: z.object({ name: ActionSchema }),
  resource: z.object({ type: IdentifierSchema, id: ResourceIdSchema }),
  context: ContextSchema.default({}),
});

/** One question: may this subject do this, there? */
export type Evaluation = z.output<typeof EvaluationSchema>;

const SemanticSchema = z.enum(["execute_all", "deny_on_first_deny", "permit_on_first_permit"]);

/** When to stop: at the end, at the first denial, or at the first permission. */
export type Semantic = z.infer<typeof SemanticSchema>;

const PartSchema = z
  .custom<object>((part) => typeof part === "object" && part !== null && !Array.isArray(part), "expected object")
  .optional();

/** A request for several evaluations. Each part of it is what an evaluation has unless it says otherwise. */
const BatchSchema = z.object({
  subject: PartSchema,
  action: PartSchema,
  resource: PartSchema,
  // What is wrong here is wrong for every evaluation, also where one has a context of its own.
  context: ContextSchema.optional(),
  options: z.object({ evaluations_semantic: SemanticSchema.default("execute_all") }).default({
    evaluations_semantic: "execute_all",
  }),
  evaluations: z.array(z.unknown()).max(maxEvaluations).optional(),
});

/** One of several: a question, or what is wrong with it. */
export type BatchedEvaluation = { kind: "question"; evaluation: Evaluation } | { kind: "malformed"; message: string };

/** The question in the body of a request. Throws 400. */
export function readEvaluation(body: unknown): Evaluation {
  return parse(EvaluationSchema, body);
}

/** The questions in the body of a request; without any of their own, the body is one. Throws 400. */
export function readEvaluations(
  body: unknown,
): { kind: "one"; evaluation: Evaluation } | { kind: "several"; semantic: Semantic; items: BatchedEvaluation[] } {
  const { evaluations, options, ...defaults } = parse(BatchSchema, body);
  if (evaluations === undefined || evaluations.length === 0) return { kind: "one", evaluation: readEvaluation(body) };
  // As it was sent: each evaluation reads its context by itself.
  const { context } = body as { context?: unknown };
  const items = evaluations.map((item) => readItem(item, { ...defaults, context }));
  return { kind: "several", semantic: options.evaluations_semantic, items };
}

type Defaults = z.output<typeof PartsSchema>;

/**
 * An evaluation among several. What it says of a subject, an action or a resource comes before the default, key by key, so that
 * it need not repeat a type. A context takes the default's place as a whole.
 */
function readItem(item: unknown, defaults: Defaults): BatchedEvaluation {
  const own = PartsSchema.safeParse(item);
  if (!own.success) return { kind: "malformed", message: describeIssues(own.error.issues) };
  const { subject, action, resource, context = defaults.context } = own.data;
  const parsed = EvaluationSchema.safeParse({
    subject: merged(defaults.subject, subject),
    action: merged(defaults.action, action),
    resource: merged(defaults.resource, resource),
    context,
  });
  if (parsed.success) return { kind: "question", evaluation: parsed.data };
  return { kind: "malformed", message: describeIssues(parsed.error.issues) };
}

const PartsSchema = z.object({
  subject: PartSchema,
  action: PartSchema,
  resource: PartSchema,
  context: z.unknown().optional(),
});

function merged(one: object | undefined, other: object | undefined): object | undefined {
  return one === undefined ? other : { ...one, ...other };
}

function parse<Schema extends z.ZodType>(schema: Schema, body: unknown): z.output<Schema> {
  const parsed = schema.safeParse(body);
  if (parsed.success) return parsed.data;
  throw new ServiceHttpError(400, "invalid_request", describeIssues(parsed.error.issues));
}
