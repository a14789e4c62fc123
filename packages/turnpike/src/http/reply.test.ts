import { expect, test } from "vitest";
import { deepFreeze } from "../internal/index.ts";
import { descriptorOf } from "../../test/deployment.ts";
import { catalogReply } from "./reply.ts";

test("a descriptor that can still change is written anew, one that cannot is written once", () => {
  const [changing, frozen] = [descriptorOf(), deepFreeze(descriptorOf({ name: "files.list" }))];
  const before = catalogReply([changing, frozen]).body;
  changing.description = "Reads two notes.";
  const after = catalogReply([changing, frozen]).body;
  expect(before).toBe(JSON.stringify([descriptorOf(), frozen]));
  expect(after).toBe(JSON.stringify([descriptorOf({ description: "Reads two notes." }), frozen]));
});
