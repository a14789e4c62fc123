import { shapeRows, testContract } from "../../test/contract-rows.ts";
import { resourceRef } from "../../test/valid-objects.ts";
import { ResourceRefSchema } from "./resource.ts";

testContract("a resource reference", ResourceRefSchema, [
  ...shapeRows(resourceRef, { required: ["namespace", "path"], optional: ["owner"] }),
  { name: "to the root of its namespace", value: { ...resourceRef, path: [] } },
  { name: "with a path of 64 segments", value: { ...resourceRef, path: Array(64).fill("a") } },
  { name: "with a path of 65 segments", value: { ...resourceRef, path: Array(65).fill("a") }, refusedAt: "/path" },
  { name: "that climbs", value: { ...resourceRef, path: ["notes", ".."] }, refusedAt: "/path/1" },
  { name: "whose path is a string", value: { ...resourceRef, path: "notes" }, refusedAt: "/path" },
  { name: "with an empty namespace", value: { ...resourceRef, namespace: "" }, refusedAt: "/namespace" },
  { name: "whose owner is a string", value: { ...resourceRef, owner: "alice" }, refusedAt: "/owner" },
]);
