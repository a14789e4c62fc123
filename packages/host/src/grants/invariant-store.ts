import { findViolationsInSteps, type Violations } from "turnpike/kernel";
import { columnText, runInSlices } from "../shared/index.ts";
import type { InvariantRecord } from "../admin-contract/index.ts";
import { type Database, distinctNames, type Revisions } from "../storage/index.ts";
import { afterChange, type GrantChange } from "./changed-grants.ts";
import { InvariantViolatedError } from "./check-invariants.ts";
import { readUnended } from "./grant-reads.ts";
import { requireRevision, RevisionPassedError } from "./grant-writes.ts";
import { readInvariants, tenantColumn } from "./invariant-rows.ts";

/** The rules about grants. */
export interface InvariantStore {
  /** The rules that hold in a tenant, those of every tenant included; all rules when no tenant is named. */
  list(namespaceId?: string): Promise<InvariantRecord[]>;
  /**
   * Adds a rule and returns what breaks it, which is nothing unless it is only reported on. Throws an `InvariantViolatedError`, an
   * `InvariantIdTakenError`, and a `RevisionPassedError` when something was changed all the time.
   */
  add(invariant: InvariantRecord, at: string): Promise<Violations>;
  /** Removes a rule of a tenant, or of every tenant; false when there is none. */
  remove(namespaceId: string | undefined, id: string): Promise<boolean>;
  /** What breaks the rules that hold in a tenant, or in any of all, from an instant on. */
  check(namespaceId: string | undefined, at: string, options?: CheckOptions): Promise<Violations>;
  /** What a change of the grants of a tenant would be refused for. */
  preview(namespaceId: string, change: GrantChange, at: string): Promise<Violations>;
}

interface CheckOptions {
  /** Only rules that refuse writes. */
  isRefusing?: boolean;
}

/** There is a rule of that id, in the tenant or for every tenant. */
export class InvariantIdTakenError extends Error {
  override readonly name = "InvariantIdTakenError";
}

/** How often grants are checked again because something was changed meanwhile. */
const attempts = 10;
const tenantsAtOnce = 100;
/** How many violations an answer has at most, like one of the kernel. */
const maxViolations = 100;

export function createInvariantStore({ reporting }: Database, revisions: Revisions): InvariantStore {
  /** The tenants whose grants a rule is about. */
  async function* tenantsOf(namespaceId: string | undefined): AsyncGenerator<string> {
    if (namespaceId !== undefined) return yield namespaceId;
    const columns = [{ table: "grants", column: "namespace_id" }] as const;
    for (let after: string | undefined; ;) {
      const names = await distinctNames(reporting, columns, { after, most: tenantsAtOnce });
      yield* names;
      if (names.length < tenantsAtOnce) return;
      after = names.at(-1);
    }
  }
  const findAll = async (
    namespaceId: string | undefined,
    rulesOf: (tenant: string) => readonly InvariantRecord[],
    at: string,
  ): Promise<Violations> => {
    const all: Violations = { violations: [] };
    for await (const tenant of tenantsOf(namespaceId)) {
      const rules = rulesOf(tenant);
      if (rules.length === 0) continue;
      const grants = await readUnended(reporting, tenant, at);
      const found = await runInSlices(findViolationsInSteps(grants, rules, { at }));
      all.violations.push(...found.violations);
      if (found.more === true || all.violations.length > maxViolations)
        return { violations: all.violations.slice(0, maxViolations), more: true };
    }
    return all;
  };
  const addOnce = async (invariant: InvariantRecord, at: string): Promise<Violations> => {
    const { namespaceId, id, reportOnly } = invariant;
    // The revision is read first: what is checked behind it is at least as new.
    const { value } = await reporting.selectFrom("revision").select("value").executeTakeFirstOrThrow();
    const found = await findAll(namespaceId, () => [invariant], at);
    if (reportOnly !== true && found.violations.length > 0) throw new InvariantViolatedError(found);
    await revisions.write(async (transaction) => {
      await requireRevision(transaction, value);
      let same = transaction.selectFrom("invariants").select("id").where("id", "=", columnText(id));
      // A rule of every tenant has an id that no rule of any tenant has.
      if (namespaceId !== undefined)
        same = same.where("namespace_id", "in", [tenantColumn(undefined), columnText(namespaceId)]);
      if ((await same.limit(1).executeTakeFirst()) !== undefined)
        throw new InvariantIdTakenError("There is a rule of this id.");
      const row = { namespace_id: tenantColumn(namespaceId), id: columnText(id), content: JSON.stringify(invariant) };
      await transaction.insertInto("invariants").values(row).execute();
    });
    return found;
  };
  return {
    list: (namespaceId) => readInvariants(reporting, namespaceId),
    async add(invariant, at) {
      for (let attempt = 1; ; attempt += 1) {
        try {
          return await addOnce(invariant, at);
        } catch (error) {
          if (!(error instanceof RevisionPassedError) || attempt === attempts) throw error;
        }
      }
    },
    remove: (namespaceId, id) =>
      revisions.write(async (transaction) => {
        const { numDeletedRows } = await transaction
          .deleteFrom("invariants")
          .where("namespace_id", "=", tenantColumn(namespaceId))
          .where("id", "=", columnText(id))
          .executeTakeFirst();
        return numDeletedRows > 0n;
      }),
    async check(namespaceId, at, { isRefusing = false } = {}) {
      const all = await readInvariants(reporting, namespaceId);
      const rules = isRefusing ? all.filter(({ reportOnly }) => reportOnly !== true) : all;
      // A tenant that was found by its column has the name that is stored.
      const holdsIn = (tenant: string) => (rule: InvariantRecord) =>
        rule.namespaceId === undefined || columnText(rule.namespaceId) === columnText(tenant);
      return findAll(namespaceId, (tenant) => rules.filter(holdsIn(tenant)), at);
    },
    async preview(namespaceId, change, at) {
      const all = await readInvariants(reporting, namespaceId);
      const rules = all.filter(({ reportOnly }) => reportOnly !== true);
      const by = new Set((change.issue ?? []).map(({ id }) => id));
      if (rules.length === 0 || by.size === 0) return { violations: [] };
      const grants = afterChange(await readUnended(reporting, namespaceId, at), change);
      return runInSlices(findViolationsInSteps(grants, rules, { at, by }));
    },
  };
}
