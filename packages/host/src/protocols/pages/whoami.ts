import { jsonReply } from "turnpike/http";
import { admitCaller, type AdmittedCaller, type AuthenticationPorts, type RateLimit } from "../../access/index.ts";
import type { Protocol } from "../../front/index.ts";
import { type Whoami, whoamiPath } from "../../admin-contract/index.ts";

/** Tells the bearer of any valid credential, also an operator's, who they are here. */
export function whoamiProtocol(access: AuthenticationPorts & { rateLimit: RateLimit }): Protocol<AdmittedCaller> {
  return {
    owns: (path) => path === whoamiPath,
    admit: ({ request: { headers }, record }) => admitCaller(access, headers, record),
    routes: [
      { method: "GET", path: whoamiPath, answer: async (_incoming, caller) => jsonReply(whoIs(caller.credential)) },
    ],
  };
}

function whoIs({ id: credentialId, namespaceId, access }: AdmittedCaller["credential"]): Whoami {
  const { actor, owner, authority, purposes, admin, role = "admin", tenant } = access;
  return admin === true
    ? { kind: "operator", credentialId, actor, role, ...(tenant !== undefined && { tenant }) }
    : { kind: "caller", credentialId, actor, owner, ...(authority && { authority }), tenant: namespaceId, purposes };
}
