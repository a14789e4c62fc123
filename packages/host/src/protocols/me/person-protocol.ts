import { describeIssues, IdentifierSchema, PrincipalRefSchema } from "turnpike/contracts";
import { jsonReply, readBody, type Reply, ServiceHttpError } from "turnpike/http";
import { z } from "zod";
import { requireOwnOrigin, requireOwnPage, sessionMs, setCookie } from "../../access/index.ts";
import { type IncomingRequest, type Protocol, type ProtocolRoute, queryOf } from "../../front/index.ts";
import {
  type AdmittedPerson,
  beginPersonSession,
  endPersonSession,
  type PersonPorts,
  requirePerson,
} from "../../people/index.ts";
import type { PersonSession } from "../../admin-contract/index.ts";
import { listConnections, revokeConnection } from "./connections.ts";
import { readOwnLog } from "./own-log.ts";
import type { PersonServices } from "./person-services.ts";
import { answerQuestion, listQuestions } from "./questions.ts";

/** One thing that a person asks for, with what they send; what it answers is JSON. */
interface PersonRoute {
  method: "GET" | "POST";
  path: `/me/v1/${string}`;
  input: z.ZodObject;
  answer(services: PersonServices, person: AdmittedPerson, input: never): Promise<object>;
}

const nothing = z.strictObject({});

/** INVARIANT: no route takes a tenant or a person: each is about the person of the session. */
const routes: readonly PersonRoute[] = [
  { method: "GET", path: "/me/v1/session", input: nothing, answer: async (_services, person) => sessionOf(person) },
  {
    method: "GET",
    path: "/me/v1/connections",
    input: nothing,
    answer: async (services, person) => ({ connections: await listConnections(services, person) }),
  },
  {
    method: "POST",
    path: "/me/v1/connections/revoke",
    input: z.strictObject({ subject: PrincipalRefSchema }),
    answer: revokeConnection,
  },
  { method: "GET", path: "/me/v1/questions", input: nothing, answer: listQuestions },
  {
    method: "POST",
    path: "/me/v1/questions/answer",
    input: z.strictObject({
      id: IdentifierSchema,
      ask: IdentifierSchema,
      answer: z.enum(["allow", "deny"]),
      reason: z.string().max(1000).optional(),
    }),
    answer: answerQuestion,
  },
  {
    method: "GET",
    path: "/me/v1/trail",
    input: z.strictObject({ cursor: z.string().max(200).optional() }),
    answer: readOwnLog,
  },
  { method: "GET", path: "/me/v1/sessions", input: nothing, answer: listSessions },
  { method: "POST", path: "/me/v1/sessions/end", input: z.strictObject({ id: IdentifierSchema }), answer: endSession },
];

/** A person's own pages ask here. Only a session of theirs is admitted. */
export function personProtocol(services: PersonServices): Protocol<AdmittedPerson> {
  const { ports } = services;
  return {
    owns: (path) => path.startsWith("/me/v1/"),
    admit: ({ request, record }) => requirePerson(ports, request, record),
    openRoutes: [beginRoute(ports)],
    routes: routes.map(({ method, path, input, answer }) => ({
      method,
      path,
      async answer(incoming, person) {
        const given = method === "GET" ? readQuery(incoming, input) : await readBody(incoming.request.body, input);
        return jsonReply(await answer(services, person, given as never));
      },
    })),
  };
}

/** Begins the session that a sign-in ends with. It needs no session yet: the code, and the browser that got it, admit its sender. */
function beginRoute(ports: PersonPorts): ProtocolRoute<undefined> {
  return {
    method: "POST",
    path: "/me/v1/session",
    async answer({ request, record }): Promise<Reply> {
      requireOwnPage(request.headers);
      requireOwnOrigin(ports, request);
      const schema = z.strictObject({ code: z.string().min(1).max(512) });
      const { code } = (await readBody(request.body, schema)) as z.infer<typeof schema>;
      const { cookie, page, person } = await beginPersonSession(ports, code, request.headers, record);
      record.headers["set-cookie"] = setCookie(ports.originOf(request.headers), cookie, sessionMs / 1000, "me");
      return jsonReply({ ...sessionOf(person), pageSecret: page }, 201);
    },
  };
}

function sessionOf({ principal, namespaceId, session }: AdmittedPerson): PersonSession {
  return { principal, tenant: namespaceId, expiresAt: session.expiresAt };
}

async function listSessions({ ports }: PersonServices, { credentialId, session }: AdmittedPerson): Promise<object> {
  const open = await ports.sessions.listOpen(credentialId, ports.clock());
  return { sessions: open.map((one) => ({ ...one, isThis: one.id === session.id })) };
}

async function endSession({ ports }: PersonServices, person: AdmittedPerson, { id }: { id: string }): Promise<object> {
  const open = await ports.sessions.listOpen(person.credentialId, ports.clock());
  if (!open.some((one) => one.id === id)) throw new ServiceHttpError(404, "not_found", "You have no such session.");
  await endPersonSession(ports, person, id);
  return {};
}

function readQuery({ request: { target } }: IncomingRequest, schema: z.ZodObject): unknown {
  const checked = schema.safeParse(Object.fromEntries(queryOf(target)));
  if (checked.success) return checked.data;
  throw new ServiceHttpError(400, "invalid_request", describeIssues(checked.error.issues));
}
