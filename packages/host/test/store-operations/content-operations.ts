import { envelope } from "../counting-api.ts";
import { neverAborted, now } from "../records.ts";
import { inboxOf, mine, type Operations } from "./operation.ts";

const everything = { covers: () => Promise.resolve(true), signal: neverAborted };

/** Files, snapshots of them, and messages. */
export const contentOperations: Operations = {
  "files.create":
    ({ files }, { tenant }) =>
    () =>
      files.create(mine(tenant), ["new"], "new words"),
  "files.create, again": async ({ files }, { tenant }) => {
    await files.delete(mine(tenant), ["seeded"]);
    return () => files.create(mine(tenant), ["seeded"], "new words");
  },
  "files.replace":
    ({ files }, { tenant }) =>
    () =>
      files.replace(mine(tenant), ["seeded"], "new words"),
  "files.append":
    ({ files }, { tenant }) =>
    () =>
      files.append(mine(tenant), ["seeded"], " and more"),
  "files.delete":
    ({ files }, { tenant }) =>
    () =>
      files.delete(mine(tenant), ["seeded"]),
  "files.write, the first time":
    ({ files }, { tenant }) =>
    () =>
      files.write(mine(tenant), ["new"], "new"),
  "files.write, again":
    ({ files }, { tenant }) =>
    () =>
      files.write(mine(tenant), ["seeded"], "new"),
  "files.stat":
    ({ files }, { tenant }) =>
    () =>
      files.stat(mine(tenant), ["seeded"]),
  "files.read":
    ({ files }, { tenant }) =>
    () =>
      files.read(mine(tenant), ["seeded"]),
  "files.walk":
    ({ files }, { tenant }) =>
    () =>
      files.walk(mine(tenant), []).next(),
  "files.match":
    ({ files }, { tenant }) =>
    () =>
      files.match(mine(tenant), [], { words: ["seeded"], prefix: "wor" }, neverAborted),
  "files.snapshots.create":
    ({ files }, { tenant }) =>
    () =>
      files.snapshots.create(mine(tenant), [], "before", everything),
  "files.snapshots.list":
    ({ files }, { tenant }) =>
    () =>
      files.snapshots.list(mine(tenant)),
  "files.snapshots.restore": async ({ files }, { tenant }) => {
    const { id } = await files.snapshots.create(mine(tenant), [], "before", everything);
    await files.write(mine(tenant), ["seeded"], "changed");
    await files.write(mine(tenant), ["added"], "added");
    return () => files.snapshots.restore(mine(tenant), [], id, everything);
  },
  "messages.deliver":
    ({ messages }, { tenant }) =>
    () =>
      messages.deliver({ ...envelope, id: "new" }, tenant, now),
  "messages.deliver, the first of an inbox":
    ({ messages }, { emptyTenant }) =>
    () =>
      messages.deliver(envelope, emptyTenant, now),
  "messages.inbox":
    ({ messages }, { tenant }) =>
    () =>
      messages.inbox(inboxOf(tenant), { limit: 9 }),
  "messages.acknowledge":
    ({ messages }, { tenant }) =>
    () =>
      messages.acknowledge(inboxOf(tenant), [envelope.id], now),
  "messages.knows":
    ({ messages }, { tenant }) =>
    () =>
      messages.knows(inboxOf(tenant), envelope.id),
  "messages.holds":
    ({ messages }, { tenant }) =>
    () =>
      messages.holds(tenant, envelope),
  "messages.countUnacknowledged":
    ({ messages }) =>
    () =>
      messages.countUnacknowledged(),
};
