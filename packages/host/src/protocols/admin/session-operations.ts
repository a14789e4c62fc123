import { jsonReply, readBody } from "turnpike/http";
import {
  type AdmittedOperator,
  beginSession,
  consoleLink,
  createCode,
  endSession,
  type OperatorPorts,
  requireOwnOrigin,
  sessionMs,
  setCookie,
} from "../../access/index.ts";
import { version } from "../../shared/index.ts";
import type { ProtocolRoute } from "../../front/index.ts";
import { type AdminInput, type AdminOutput, adminRoutes } from "../../admin-contract/index.ts";
import { forbidden, type AdminOperations, type AdminServices } from "./admin-services.ts";

/** Showing operators who they are, ending their session, and making a code for another one. */
export function sessionOperations(
  services: Pick<AdminServices, "isDemo">,
  ports: OperatorPorts,
): AdminOperations<"readSession" | "endSession" | "createCode"> {
  return {
    readSession: (_input, operator) => Promise.resolve(sessionOf(services, operator, operator.session?.expiresAt)),
    async endSession(_input, operator, { request, record }) {
      await endSession(ports, operator);
      if (operator.session !== undefined)
        record.headers["set-cookie"] = setCookie(ports.originOf(request.headers), "", 0);
      return {};
    },
    async createCode(_input, operator, { request }) {
      // INVARIANT: a session cannot create another one. Otherwise the limit of 12 hours and signing out would have no effect.
      if (operator.session !== undefined)
        throw forbidden("A session makes no codes: make one with the operator's token.");
      const origin = ports.originOf(request.headers);
      const { code, expiresAt } = await createCode(ports, operator, ports.clock());
      return { code, url: consoleLink(origin, code), expiresAt };
    },
  };
}

/** The route that needs no credential, because the body has one. Requests of foreign pages are refused. */
export function createSessionRoute(
  services: Pick<AdminServices, "isDemo">,
  ports: OperatorPorts,
): ProtocolRoute<undefined> {
  const { method, path, request: schema, status } = adminRoutes.createSession;
  return {
    method,
    path,
    async answer({ request, record }) {
      requireOwnOrigin(ports, request);
      const origin = ports.originOf(request.headers);
      const signIn = (await readBody(request.body, schema)) as AdminInput<"createSession">;
      const { operator, cookie, page, expiresAt } = await beginSession(ports, signIn, request.headers, record);
      record.headers["set-cookie"] = setCookie(origin, cookie, sessionMs / 1000);
      const begun: AdminOutput<"createSession"> = { ...sessionOf(services, operator, expiresAt), pageSecret: page };
      return jsonReply(begun, status);
    },
  };
}

function sessionOf(
  { isDemo }: Pick<AdminServices, "isDemo">,
  { id, actor, role, tenant }: AdmittedOperator,
  expiresAt: string | undefined,
): AdminOutput<"readSession"> {
  return {
    operator: { id, actor, role, ...(tenant !== undefined && { tenant }) },
    ...(expiresAt !== undefined && { expiresAt }),
    host: { version, isDemo },
  };
}
