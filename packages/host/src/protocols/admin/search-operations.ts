import { principalKey, type AuditEvent, type Grant, type ResourceRef } from "turnpike/contracts";
import { columnText, yieldToEventLoop } from "../../shared/index.ts";
import type { AdmittedOperator } from "../../access/index.ts";
import { adminRoutes, type AdminRouteName, type Found } from "../../admin-contract/index.ts";
import type { AdminOperations, AdminServices } from "./admin-services.ts";

/** How many of each kind are read to find a part of a name. A whole name is found by its index, however many there are. */
const [maxRead, maxTurns, maxEvents] = [500, 200, 300];
/** One kind must not displace all others. */
const mostOfKind = 10;

/** What a source found, and whether it has more than it read. */
interface Candidates {
  found: readonly Found[];
  isPartial?: boolean;
}

interface Source {
  /** An operator who may not use this route finds nothing of this source. */
  needs: AdminRouteName;
  /** Finds what has this name, as databases store it, and reads some others. */
  read(namespaceId: string, name: string): Promise<Candidates>;
}

/** Finding things by their names. */
export function searchOperations(services: AdminServices): AdminOperations<"search"> {
  const sources = sourcesOf(services);
  return {
    async search({ namespaceId, text, limit }, operator) {
      const readable = sources.filter(({ needs }) => mayUse(operator, needs));
      const all: Candidates[] = [];
      // One after the other, so that a person who types takes one connection of the database at a time.
      for (const { read } of readable) {
        all.push(await read(namespaceId, columnText(text)));
        await yieldToEventLoop();
      }
      const fitting = all.flatMap(({ found }) => rank(found, text));
      const found = fitting.toSorted((one, other) => one.rank - other.rank).map(({ one }) => one);
      const isPartial = found.length > limit || all.some((candidates) => candidates.isPartial === true);
      return { found: found.slice(0, limit), ...(isPartial && { isPartial }) };
    },
  };
}

function mayUse({ role }: AdmittedOperator, name: AdminRouteName): boolean {
  return (adminRoutes[name].roles as readonly string[]).includes(role);
}

/** The found items whose name contains the text, each once, with how well it matches. */
function rank(found: readonly Found[], text: string): { one: Found; rank: number }[] {
  const wanted = text.toLowerCase();
  const names = new Map(found.map((one) => [`${one.kind} ${one.actor ? principalKey(one.actor) : ""} ${one.id}`, one]));
  const ranked = [...names.values()].flatMap((one) => {
    const name = one.id.toLowerCase();
    const place = name.indexOf(wanted);
    if (place === -1) return [];
    return [{ one, rank: name === wanted ? 0 : isBeginning(name, place) ? 1 : 2 }];
  });
  const best = new Map<Found["kind"], number>();
  return ranked
    .toSorted((one, other) => one.rank - other.rank)
    .filter(({ one: { kind } }) => {
      best.set(kind, (best.get(kind) ?? 0) + 1);
      return (best.get(kind) ?? 0) <= mostOfKind;
    });
}

/** A name begins where its last part does, too: `alice` of `human:alice`, `todo.md` of `files/notes/todo.md`. */
function isBeginning(name: string, place: number): boolean {
  return place === 0 || /[:/.]/.test(name.charAt(place - 1));
}

function sourcesOf({ stores, toolNames, clock }: AdminServices): Source[] {
  const { audit, credentials, escalations, grants, principals, turns } = stores;
  return [
    {
      needs: "listPrincipals",
      async read(namespaceId, name) {
        const page = await principals.list(namespaceId, undefined, maxRead);
        const counts = [...(await principals.count(namespaceId, [name])).values()];
        const isKnown = counts.some(({ held, issued, credentials: some }) => held + issued + some > 0);
        const names = page.principals.map(({ principal }) => principalKey(principal));
        const found = [...(isKnown ? [name] : []), ...names].map((id): Found => ({ kind: "principal", id }));
        return { found, isPartial: page.next !== undefined };
      },
    },
    {
      needs: "listGrants",
      async read(namespaceId, name) {
        const exact = await grants.findStored(namespaceId, name);
        const some = await grants.list(namespaceId, { limit: maxRead });
        const found = [...(exact ? [exact] : []), ...some].flatMap((grant) => [
          grantFound(grant),
          ...resourcesOf(grant),
        ]);
        return { found, isPartial: some.length === maxRead };
      },
    },
    {
      needs: "listAllTurns",
      async read(namespaceId, name) {
        const exact = await turns.findBy(namespaceId, name);
        const page = await turns.listAll({ namespaceId, limit: maxTurns });
        const found = [...(exact ? [exact] : []), ...page.turns].map(({ actor, state }): Found => ({
          kind: "turn",
          id: state.executionId,
          about: `${state.status}, of ${principalKey(actor)}`,
          actor,
        }));
        return { found, isPartial: page.next !== undefined };
      },
    },
    {
      // An act can have a megabyte, so escalations are not scanned. They are found by their whole id.
      needs: "listEscalations",
      async read(namespaceId, name) {
        const exact = await escalations.find(namespaceId, name, clock().toISOString());
        return { found: exact ? [{ kind: "escalation", id: exact.id, about: exact.status }] : [] };
      },
    },
    {
      needs: "listCredentials",
      async read(namespaceId, name) {
        const exact = await credentials.find(name);
        const some = await credentials.list({ namespaceId, limit: maxRead });
        // INVARIANT: a credential of another tenant is treated as missing.
        const own = [...(exact ? [exact] : []), ...some].filter((one) => one.namespaceId === namespaceId);
        const found = own.map(({ id, access }): Found => {
          return { kind: "credential", id, about: `of ${principalKey(access.actor)}` };
        });
        return { found, isPartial: some.length === maxRead };
      },
    },
    {
      needs: "readNamespaces",
      read: async (namespaceId) => ({
        found: (await toolNames(namespaceId)).map((id): Found => ({ kind: "tool", id })),
      }),
    },
    {
      needs: "listAudit",
      async read(namespaceId, name) {
        const exact = await audit.list(namespaceId, { traceId: name, limit: 1 });
        const some = await audit.list(namespaceId, { limit: maxEvents });
        const found = [...exact, ...some].flatMap(({ event }) => eventFound(event));
        return { found, isPartial: some.length === maxEvents };
      },
    },
  ];
}

function grantFound({ id, subject, issuer }: Grant): Found {
  return { kind: "grant", id, about: `to ${principalKey(subject)}, from ${principalKey(issuer)}` };
}

function resourcesOf({ capabilities }: Grant): Found[] {
  return capabilities.map(({ resource }) => resourceFound(resource));
}

function resourceFound({ namespace, path }: ResourceRef): Found {
  return { kind: "resource", id: [namespace, ...path].join("/") };
}

function eventFound({ traceId, at, resource, tool }: AuditEvent): Found[] {
  return [
    { kind: "trace", id: traceId, about: `since ${at}` },
    ...(resource === undefined ? [] : [resourceFound(resource)]),
    ...(tool === undefined ? [] : [{ kind: "tool", id: tool } as const]),
  ];
}
