import { readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { eventually } from "../../../packages/host/test/host-calls.ts";
import { attack, type Attack, type Group, type Seen } from "./attack.ts";
import { answerTo, change, cli, http, seen } from "./surfaces.ts";
import { issue, openWorld, type World } from "./world.ts";

/** A tenant with an audit log of its own of ten rows, whose head is signed. */
async function auditLog(world: World): Promise<string> {
  const tenant = world.fresh("log");
  for (let row = 0; row < 5; row += 1) await issue(world, "files", { tenant });
  await change(world, "audit/checkpoints");
  return tenant;
}

const searches = (tenant: string) =>
  [
    `/admin/v1/audit?namespaceId=${tenant}&text=nowhere-at-all`,
    `/admin/v1/search?namespaceId=${tenant}&text=nowhere-at-all`,
    `/admin/v1/grants?namespaceId=${tenant}&resource=nowhere-at-all`,
  ] as const;

/** Many searches at once, again and again until some are refused. */
async function flood(world: World): Promise<Seen> {
  let says = "all answered";
  await eventually(async () => {
    const asked = Array.from({ length: 10 }, () => searches("acme")).flat();
    const answers = await Promise.all(asked.map((path) => answerTo(world, path, { as: "acmeAuditor" })));
    const strange = answers.find(({ status }) => status !== 200 && status !== 429);
    if (strange !== undefined) return void (says = seen(strange).says);
    const refused = answers.filter(({ status }) => status === 429);
    if (refused.length === 0) throw new Error("All were answered.");
    const hasWait = refused.every(({ headers }) => Number(headers.get("retry-after")) > 0);
    says = `some ${refused[0] && seen(refused[0]).says}${hasWait ? " with retry-after" : ""}`;
  });
  return { says, text: "" };
}

/** The verdict on an audit log, in a word and the row. */
async function verify(world: World, tenant: string): Promise<Seen> {
  const { text } = await http(world, `/admin/v1/audit/verify?namespaceId=${tenant}`, { as: "admin" });
  const { isWhole, broken } = JSON.parse(text) as { isWhole: boolean; broken?: { sequence: number } };
  return { says: isWhole ? "whole" : `broken at row ${broken?.sequence ?? "?"}`, text };
}

const rowsOf = ({ db }: World, tenant: string) =>
  db.selectFrom("audit").selectAll().where("namespace_id", "=", tenant).orderBy("sequence");

/** A caller with the database changes an audit log, beside one that no one changed. */
function tampered(name: string, tamper: (world: World, tenant: string) => Promise<unknown>, held: string): Attack {
  return attack({
    name,
    surface: "HTTP",
    async prepare(world) {
      const [changed, whole] = [await auditLog(world), await auditLog(world)];
      await tamper(world, changed);
      return { changed, whole };
    },
    attack: (world, { changed }) => verify(world, changed),
    held,
    control: (world, { whole }) => verify(world, whole),
    succeeds: "whole",
  });
}

/** Replaces what a row says, with its hash or without. */
async function rewrite(
  { db }: World,
  tenant: string,
  sequence: number,
  values: { content?: string; hash?: string; sequence?: number },
) {
  await db
    .updateTable("audit")
    .set(values)
    .where("namespace_id", "=", tenant)
    .where("sequence", "=", sequence)
    .execute();
}

/** An event as it would be, had it happened earlier. */
function backdated(content = "{}"): string {
  return JSON.stringify({ ...(JSON.parse(content) as object), at: "2020-01-01T00:00:00.000Z" });
}

const rows: readonly Attack[] = [
  tampered(
    "An attacker with the database changes a row of the audit log",
    async (world, tenant) => {
      const [, , third] = await rowsOf(world, tenant).execute();
      await rewrite(world, tenant, 3, { content: backdated(third?.content) });
    },
    "broken at row 3",
  ),
  tampered(
    "An attacker with the database removes a row from the middle",
    ({ db }, tenant) => db.deleteFrom("audit").where("namespace_id", "=", tenant).where("sequence", "=", 3).execute(),
    "broken at row 3",
  ),
  tampered(
    "An attacker with the database cuts the end off, and the head with it",
    async (world, tenant) => {
      const { db } = world;
      await db.deleteFrom("audit").where("namespace_id", "=", tenant).where("sequence", ">", 3).execute();
      const [, , third] = await rowsOf(world, tenant).execute();
      await db
        .updateTable("audit_heads")
        .set({ sequence: 3, hash: third?.hash ?? "" })
        .where("namespace_id", "=", tenant)
        .execute();
    },
    "broken at row 4",
  ),
  tampered(
    "An attacker with the database removes the whole audit log",
    ({ db }, tenant) => db.deleteFrom("audit").where("namespace_id", "=", tenant).execute(),
    "broken at row 1",
  ),
  tampered(
    "An attacker with the database swaps two rows",
    async (world, tenant) => {
      for (const [from, to] of [
        [2, 99],
        [3, 2],
        [99, 3],
      ] as const)
        await rewrite(world, tenant, from, { sequence: to });
    },
    "broken at row 2",
  ),
  tampered(
    "An attacker with the database puts in the audit log of another tenant",
    async (world, tenant) => {
      const other = await auditLog(world);
      const theirs = await rowsOf(world, other).execute();
      for (const { sequence, content, hash } of theirs) await rewrite(world, tenant, sequence, { content, hash });
      const last = theirs.at(-1);
      await world.db
        .updateTable("audit_heads")
        .set({ hash: last?.hash ?? "" })
        .where("namespace_id", "=", tenant)
        .execute();
    },
    "broken at row 1",
  ),
  tampered(
    "An attacker with the database adds a row at the end, without its hash",
    async (world, tenant) => {
      const last = (await rowsOf(world, tenant).execute()).at(-1);
      if (last !== undefined)
        await world.db
          .insertInto("audit")
          .values({ ...last, sequence: 11, id: world.fresh("added") })
          .execute();
    },
    "broken at row 11",
  ),
  tampered(
    "An attacker with the database changes only the actor's column of a row",
    ({ db }, tenant) =>
      db
        .updateTable("audit")
        .set({ actor: "human:mallory" })
        .where("namespace_id", "=", tenant)
        .where("sequence", "=", 2)
        .execute(),
    "broken at row 2",
  ),
  attack({
    name: "An attacker verifies a changed audit log by the command",
    surface: "CLI",
    async prepare(world) {
      const [changed, whole] = [await auditLog(world), await auditLog(world)];
      const [first] = await rowsOf(world, changed).execute();
      await rewrite(world, changed, 1, { content: backdated(first?.content) });
      return { changed, whole };
    },
    attack: (world, { changed }) => cli(world, ["audit", "verify", "--tenant", changed]),
    held: "exit 1",
    control: (world, { whole }) => cli(world, ["audit", "verify", "--tenant", whole]),
    succeeds: "exit 0",
  }),
  attack({
    name: "An attacker verifies against checkpoints that another key signed",
    surface: "CLI",
    async prepare(world) {
      const tenant = await auditLog(world);
      const [own, forged] = [join(world.folder, world.fresh("own")), join(world.folder, world.fresh("forged"))];
      await cli(world, ["audit", "checkpoint", "--out", own]);
      const text = readFileSync(own, "utf8");
      const bent = text.replaceAll(
        /"signature":"(.)/g,
        (_, first: string) => `"signature":"${first === "A" ? "B" : "A"}`,
      );
      writeFileSync(forged, bent, { mode: 0o600 });
      return { tenant, own, forged };
    },
    attack: (world, { tenant, forged }) => cli(world, ["audit", "verify", "--tenant", tenant, "--checkpoint", forged]),
    held: "exit 1",
    control: (world, { tenant, own }) => cli(world, ["audit", "verify", "--tenant", tenant, "--checkpoint", own]),
    succeeds: "exit 0",
  }),
  attack({
    name: "An attacker changes an exported audit log",
    surface: "CLI",
    async prepare(world) {
      const tenant = await auditLog(world);
      const [whole, changed] = [join(world.folder, world.fresh("export")), join(world.folder, world.fresh("export"))];
      await cli(world, ["audit", "export", "--tenant", tenant, "--out", whole]);
      writeFileSync(changed, readFileSync(whole, "utf8").replace("grant.create", "grant.revoke"), { mode: 0o600 });
      return { whole, changed };
    },
    attack: (world, { changed }) => cli(world, ["audit", "verify", "--file", changed]),
    held: "exit 1",
    control: (world, { whole }) => cli(world, ["audit", "verify", "--file", whole]),
    succeeds: "exit 0",
  }),
  attack({
    name: "An attacker verifies a tenant that there is not, which must not look whole",
    surface: "CLI",
    prepare: auditLog,
    attack: (world) => cli(world, ["audit", "verify", "--tenant", "unknown", "--json"]),
    held: "exit 1 not_found",
    control: (world, tenant) => cli(world, ["audit", "verify", "--tenant", tenant, "--json"]),
    succeeds: "exit 0",
  }),
  attack({
    name: "An auditor of one tenant searches for texts, and as one types, so often that the host has time for no one else",
    surface: "HTTP",
    attack: (world) => flood(world),
    held: "some 429 rate_limited with retry-after",
    async control(world) {
      const flooding = flood(world);
      const other = await http(world, searches("globex")[0], { as: "globexAdmin" });
      const call = await http(world, "/v1/reach", { as: "globexAssistant" });
      await flooding;
      return { says: `${other.says}, ${call.says}`, text: other.text + call.text };
    },
    succeeds: "200, 200 computed",
  }),
];

export const audit: Group = { name: "audit", open: () => openWorld(), attacks: rows };
