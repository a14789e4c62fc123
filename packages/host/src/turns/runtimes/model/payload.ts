import type { UserModelMessage } from "ai";
import { describeIssues, type ErrorObject, type JsonValue } from "turnpike/contracts";
import { errorObject } from "turnpike/kernel";
import { z } from "zod";
import { textOf } from "./conversation.ts";

const maxFiles = 16;
const maxBytes = 8_388_608;

/** What a model is shown of a message's payload, and what of it is recorded in the conversation. */
export interface ReadPayload {
  message: UserModelMessage;
  recorded: string;
}

const FileSchema = z.strictObject({
  mediaType: z.string().regex(/^[a-z]{1,32}\/[a-z0-9][a-z0-9.+-]{0,95}$/, "expected a media type such as image/png"),
  data: z.string().min(1).refine(isBase64, "expected base64"),
  name: z.string().min(1).max(256).optional(),
});

const FilesPayloadSchema = z.strictObject({
  text: z.string().optional(),
  files: z
    .array(FileSchema)
    .max(maxFiles)
    .refine((files) => files.reduce((sum, { data }) => sum + bytesIn(data), 0) <= maxBytes, {
      message: `expected files of ${maxBytes} bytes at most in all`,
    }),
});

type PayloadFile = z.infer<typeof FileSchema>;

const explanation = "A file is { mediaType, data, name? } with its content as base64. Addresses are not fetched.";

/** Reads a payload: `{ text?, files }` has files for the model; anything else is text. Addresses of files are refused. */
export function readPayload(payload: JsonValue): ReadPayload | { error: ErrorObject } {
  if (!hasFiles(payload)) return { message: { role: "user", content: textOf(payload) }, recorded: textOf(payload) };
  const read = FilesPayloadSchema.safeParse(payload);
  if (!read.success)
    return { error: errorObject("invalid_request", `payload ${describeIssues(read.error.issues)}. ${explanation}`) };
  const { text = "", files } = read.data;
  const said = text.trim() === "" ? [] : [{ type: "text" as const, text }];
  return {
    message: { role: "user", content: [...said, ...files.map(partOf)] },
    recorded: [...said.map((part) => part.text), ...files.map(noteOf)].join("\n"),
  };
}

/** Whether there are files in it, rather than a key of the caller's that is called so. */
function hasFiles(payload: JsonValue): boolean {
  if (typeof payload !== "object" || payload === null || Array.isArray(payload)) return false;
  const { files } = payload;
  return Array.isArray(files) && files.some((file) => typeof file === "object" && file !== null && "mediaType" in file);
}

/** Text is sent as text, which every model reads. The bytes of the others are sent as bytes: a text could be taken for an address. */
function partOf({ mediaType, data, name }: PayloadFile) {
  const content = Buffer.from(data, "base64");
  if (!/^text\/|^application\/json$/.test(mediaType))
    return { type: "file" as const, data: new Uint8Array(content), mediaType, ...(name && { filename: name }) };
  return { type: "text" as const, text: `File ${JSON.stringify(name ?? mediaType)}:\n${content.toString("utf8")}` };
}

/** What is recorded of a file: a conversation travels in every request, and would grow with each file. */
function noteOf({ mediaType, name }: PayloadFile): string {
  return `[A file was here: ${JSON.stringify(name ?? mediaType)}, ${mediaType}. It is not stored.]`;
}

/** Whether a text is base64 and nothing else. */
export function isBase64(text: string): boolean {
  return text.length % 4 === 0 && /^[A-Za-z0-9+/]*={0,2}$/.test(text);
}

/** How many bytes a base64 text encodes. */
export function bytesIn(base64: string): number {
  return Math.floor((base64.length * 3) / 4) - (base64.endsWith("==") ? 2 : base64.endsWith("=") ? 1 : 0);
}
