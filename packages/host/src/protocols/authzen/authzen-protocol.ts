import { jsonReply, readJsonBody, ServiceHttpError } from "turnpike/http";
import {
  admitCaller,
  type AdmittedCaller,
  type AuthenticationPorts,
  chargeAllowance,
  type RateLimit,
  type RequestHeaders,
} from "../../access/index.ts";
import type { IncomingRequest, OriginOf, Protocol } from "../../front/index.ts";
import { readEvaluation, readEvaluations } from "./evaluation-request.ts";
import { type Asking, evaluateOne, evaluateSeveral, type EvaluationServices } from "./evaluate.ts";

/** What the protocol uses. */
export interface AuthzenOptions extends EvaluationServices {
  access: AuthenticationPorts & { rateLimit: RateLimit };
  originOf: OriginOf;
}

const onePath = "/access/v1/evaluation";
const severalPath = "/access/v1/evaluations";
const metadataPath = "/.well-known/authzen-configuration";

/** The OpenID AuthZEN Authorization API 1.0: enforcement points ask here whether a subject may do something. */
export function authzenProtocol(options: AuthzenOptions): Protocol<AdmittedCaller> {
  const { access, originOf } = options;
  return {
    owns: (path) => path.startsWith("/access/") || path === metadataPath,
    async admit({ request: { headers }, record }) {
      const caller = await admitCaller(access, headers, record);
      refuseChoices(headers);
      return caller;
    },
    routes: [
      {
        method: "POST",
        path: onePath,
        async answer(incoming, caller) {
          const evaluation = readEvaluation(await readDocument(incoming));
          return jsonReply(await evaluateOne(options, askingOf(incoming, caller), evaluation));
        },
      },
      {
        method: "POST",
        path: severalPath,
        async answer(incoming, caller) {
          const asked = readEvaluations(await readDocument(incoming));
          const asking = askingOf(incoming, caller);
          if (asked.kind === "one") return jsonReply(await evaluateOne(options, asking, asked.evaluation));
          chargeAllowance(access.rateLimit, caller.credential, asked.items.length - 1);
          return jsonReply({ evaluations: await evaluateSeveral(options, asking, asked.items, asked.semantic) });
        },
      },
    ],
    openRoutes: [
      {
        method: "GET",
        path: metadataPath,
        // This is async, so that a refusal rejects instead of throwing.
        async answer({ request }) {
          const origin = originOf(request.headers);
          return jsonReply({
            policy_decision_point: origin,
            access_evaluation_endpoint: origin + onePath,
            access_evaluations_endpoint: origin + severalPath,
          });
        },
      },
    ],
  };
}

/** An evaluation names authority and purpose in its context. Headers with them are refused, because they would be ignored. */
function refuseChoices(headers: RequestHeaders): void {
  for (const name of ["authority", "purpose"])
    if (headers.get(`x-${name}`) !== null)
      throw new ServiceHttpError(
        400,
        "invalid_request",
        `x-${name}: not taken here. Say it in the evaluation, as context.${name}.`,
      );
}

function askingOf({ request: { signal } }: IncomingRequest, caller: AdmittedCaller): Asking {
  return { caller, signal };
}

async function readDocument({ request: { headers, body } }: IncomingRequest): Promise<unknown> {
  const [type = ""] = (headers.get("content-type") ?? "").split(";");
  if (type.trim().toLowerCase() !== "application/json")
    throw new ServiceHttpError(400, "invalid_request", "content-type: expected application/json");
  return readJsonBody(body);
}
