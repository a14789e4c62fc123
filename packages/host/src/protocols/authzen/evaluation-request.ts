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
import { fixedLimits } from "../../shared/index.ts";

/** How many evaluations one request may hold. */
const maxEvaluations = fixedLimits.evaluations.value;

// Keys that are not named here are ignored, as the specification demands. What a caller states about a subject (`properties`)
// is never trusted.

const SubjectSchema = z
  .object({ type: z.enum(["human", "agent", "group", "service"]), id: IdentifierSchema })
  .transform(({ type, id }): PrincipalRef => parsePrincipal(`${type}:${id}`) ?? z.NEVER);

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
  resource: z.object({ type: IdentifierSchema, id: z.string() }),
  context: ContextSchema.default({}),
});

/** One evaluation: may this subject do this action on this resource? */
export type Evaluation = z.output<typeof EvaluationSchema> & { path: string[] };

/** A value that was read, or what is wrong with it. */
type Reading<T> = { ok: true; value: T } | { ok: false; message: string };

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
  // A mistake here is one of every evaluation, also of those with a context of their own.
  context: ContextSchema.optional(),
  options: z.object({ evaluations_semantic: SemanticSchema.default("execute_all") }).default({
    evaluations_semantic: "execute_all",
  }),
  evaluations: z.array(z.unknown()).max(maxEvaluations).optional(),
});

/** One of several evaluations, or what is wrong with it. */
export type BatchedEvaluation = Reading<Evaluation>;

/** The evaluation in the body of a request. Throws 400. */
export function readEvaluation(body: unknown): Evaluation {
  return orRefuse(read(body, createPathReader()));
}

/** The evaluations in the body of a request. A body without a list is one evaluation. Throws 400. */
export function readEvaluations(
  body: unknown,
): { kind: "one"; evaluation: Evaluation } | { kind: "several"; semantic: Semantic; items: BatchedEvaluation[] } {
  const { evaluations, options, ...defaults } = orRefuse(parse(BatchSchema, body));
  if (evaluations === undefined || evaluations.length === 0) return { kind: "one", evaluation: readEvaluation(body) };
  // As it was sent: each evaluation reads its context by itself.
  const { context } = body as { context?: unknown };
  const pathOf = createPathReader();
  const items = evaluations.map((item) => readItem(item, { ...defaults, context }, pathOf));
  return { kind: "several", semantic: options.evaluations_semantic, items };
}

const PartsSchema = z.object({
  subject: PartSchema,
  action: PartSchema,
  resource: PartSchema,
  context: z.unknown().optional(),
});

/**
 * An evaluation among several. What it says of a subject, an action or a resource comes before the default, key by key, so that
 * it need not repeat a type. A context takes the default's place as a whole.
 */
function readItem(item: unknown, defaults: z.output<typeof PartsSchema>, pathOf: PathReader): BatchedEvaluation {
  const own = parse(PartsSchema, item);
  if (!own.ok) return own;
  const { subject, action, resource, context = defaults.context } = own.value;
  const whole = {
    subject: merged(defaults.subject, subject),
    action: merged(defaults.action, action),
    resource: merged(defaults.resource, resource),
    context,
  };
  return read(whole, pathOf);
}

function merged(one: object | undefined, other: object | undefined): object | undefined {
  return one === undefined ? other : { ...one, ...other };
}

function read(body: unknown, pathOf: PathReader): Reading<Evaluation> {
  const parsed = parse(EvaluationSchema, body);
  if (!parsed.ok) return parsed;
  const path = pathOf(parsed.value.resource.id);
  return path.ok ? { ok: true, value: { ...parsed.value, path: path.value } } : path;
}

/** Reads the id of a resource as a path. */
type PathReader = (id: string) => Reading<string[]>;

/** Reads each id once: many evaluations may share one that is long. */
function createPathReader(): PathReader {
  const known = new Map<string, Reading<string[]>>();
  return (id) => {
    const reading = known.get(id) ?? readPath(id);
    known.set(id, reading);
    return reading;
  };
}

/** Segments percent-encoded, with slashes between them. Nothing at all is the root. */
function readPath(id: string): Reading<string[]> {
  try {
    // One more than a path may have: what is longer is refused, and not read to its end.
    const segments = id === "" ? [] : id.split("/", 65).map(decodeURIComponent);
    return parse(PathSchema, segments, ["resource", "id"]);
  } catch {
    return { ok: false, message: "/resource/id: expected percent-encoded segments with slashes between them" };
  }
}

function parse<Schema extends z.ZodType>(
  schema: Schema,
  value: unknown,
  place: readonly PropertyKey[] = [],
): Reading<z.output<Schema>> {
  const parsed = schema.safeParse(value);
  if (parsed.success) return { ok: true, value: parsed.data };
  const issues = parsed.error.issues.map((issue) => ({ ...issue, path: [...place, ...issue.path] }));
  return { ok: false, message: describeIssues(issues) };
}

function orRefuse<T>(reading: Reading<T>): T {
  if (reading.ok) return reading.value;
  throw new ServiceHttpError(400, "invalid_request", reading.message);
}
