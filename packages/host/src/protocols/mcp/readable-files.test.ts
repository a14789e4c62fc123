import type { Client } from "@modelcontextprotocol/client";
import type { Capability } from "turnpike/contracts";
import { describe, expect, test } from "vitest";
import { capability, connectClient } from "../../../test/mcp/servers.ts";
import { servedWorld } from "../../../test/mcp/endpoint.ts";

function connect(files: readonly Capability[]): Promise<Client> {
  return connectClient("http://turnpike.test/mcp", "assistant", { serve: servedWorld({ files }).serve });
}

async function uris(files: readonly Capability[]): Promise<string[]> {
  return (await (await connect(files)).listResources()).resources.map(({ uri }) => uri);
}

const notes = ["ideas.md", "plans/2026.md", "todo.md"].map((path) => `turnpike://files/notes/${path}`);
const both = ["list", "read"];

describe("the files that are listed are those that may be read", () => {
  for (const row of [
    { name: "none without a grant", files: [], uris: [] },
    { name: "none that may be listed and not read", files: [capability("files/notes", ["list"])], uris: [] },
    { name: "none that may be read and not listed", files: [capability("files/notes", ["read"])], uris: [] },
    { name: "all of a folder, page after page", files: [capability("files/notes", both)], uris: notes },
    { name: "with a grant for every action", files: [capability("files/notes", ["*"])], uris: notes },
    {
      name: "of a folder that may be listed, those below another that may be read",
      files: [capability("files/notes", ["list"]), capability("files/notes/plans", ["read"])],
      uris: ["turnpike://files/notes/plans/2026.md"],
    },
    {
      name: "of two folders, one after the other",
      files: [capability("files/notes/plans", both), capability("files/private", both)],
      uris: ["turnpike://files/notes/plans/2026.md", "turnpike://files/private/diary.md"],
    },
    {
      name: "once, when grants lie in each other",
      files: [capability("files/notes", both), capability("files/notes/plans", both)],
      uris: notes,
    },
    {
      name: "one file, when the grant is for it alone",
      files: [capability("files/notes/todo.md", ["read"], "exact")],
      uris: ["turnpike://files/notes/todo.md"],
    },
    {
      name: "with names that a URI has to encode",
      files: [capability("files/shared", both)],
      uris: ["turnpike://files/shared/men%C3%BC%20100%25.md"],
    },
    {
      name: "not those of a folder whose name begins alike",
      files: [capability("files/no", both)],
      uris: [],
    },
  ]) {
    test(row.name, async () => {
      expect(await uris(row.files)).toEqual(row.uris);
    });
  }
});

describe("reading", () => {
  const files = [capability("files/notes", both), capability("files/shared", both)];

  for (const row of [
    { uri: "turnpike://files/notes/todo.md", text: "- water the plants" },
    { uri: "turnpike://files/shared/men%C3%BC%20100%25.md", text: "Soup" },
  ]) {
    test(`${row.uri} gives the file`, async () => {
      const client = await connect(files);
      expect(await client.readResource({ uri: row.uri })).toMatchObject({
        contents: [{ uri: row.uri, mimeType: "text/plain", text: row.text }],
      });
    });
  }

  const refused = { code: -32_602, message: "No grant covers the act.", data: { code: "no_matching_grant" } };
  const invalid = { code: -32_602, data: { code: "invalid_request" } };
  for (const row of [
    { name: "a file that is not granted", path: "private/diary.md", error: refused },
    { name: "a file that is neither granted nor there", path: "private/nothing.md", error: refused },
    { name: "a step up", path: "notes/../private/diary.md", error: invalid },
    { name: "an encoded step up", path: "notes/%2e%2e/private/diary.md", error: invalid },
    { name: "an encoded slash", path: "notes/..%2Fprivate%2Fdiary.md", error: invalid },
    { name: "an empty step", path: "notes//todo.md", error: invalid },
    {
      name: "a file that is not there",
      path: "notes/nothing.md",
      error: { code: -32_602, data: { uri: "turnpike://files/notes/nothing.md" } },
    },
    { name: "a broken encoding", path: "notes/%zz", error: { code: -32_602 } },
  ]) {
    test(`${row.name} is refused`, async () => {
      const client = await connect(files);
      await expect(client.readResource({ uri: `turnpike://files/${row.path}` })).rejects.toMatchObject(row.error);
    });
  }

  for (const uri of ["file:///etc/passwd", "turnpike://messages/inbox", "turnpike://files", ""]) {
    test(`${JSON.stringify(uri)} is no file's address`, async () => {
      const client = await connect(files);
      await expect(client.readResource({ uri })).rejects.toMatchObject({ code: -32_602 });
    });
  }
});

test("a cursor that a client invented leads nowhere, and never beyond the grants", async () => {
  const client = await connect([capability("files/notes", both)]);
  const invented = { path: ["private"], scope: "descendants" };
  const encode = (value: unknown) => Buffer.from(JSON.stringify(value)).toString("base64url");
  for (const cursor of ["", "x", encode(null), encode(invented), encode({ ...invented, path: [] })]) {
    await expect(client.listResources({ cursor })).rejects.toMatchObject({
      code: -32_602,
      data: { code: "invalid_request" },
    });
  }
});

test("the template says how addresses are made", async () => {
  const client = await connect([]);
  expect((await client.listResourceTemplates()).resourceTemplates).toEqual([
    { name: "file", uriTemplate: "turnpike://files/{+path}", description: "A file that you may read." },
  ]);
});
