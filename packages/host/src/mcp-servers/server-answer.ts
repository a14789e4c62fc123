import {
  MissingRequiredClientCapabilityError,
  ProtocolError,
  SdkError,
  SdkErrorCode,
  UrlElicitationRequiredError,
} from "@modelcontextprotocol/client";
import type { JsonObject, JsonValue } from "turnpike/contracts";
import { ToolError } from "turnpike/kernel";
import { withoutHiddenText } from "../shared/index.ts";
import { changedNumberCode } from "./exact-numbers.ts";
import { AnswerTooLargeError } from "./http-answer.ts";
import { brokenOffCode } from "./http-channel.ts";
import { tooLargeCode } from "./line-reader.ts";
import type { ToolAnswer } from "./mcp-connection.ts";
import { HiddenTextError, plainJson, plainText } from "./plain-text.ts";

const maxErrorText = 4096;
/** The error of a call that could not be sent to the server. */
export function toUnavailable(cause: unknown): never {
  throw new ToolError("tool_catalog_unavailable", "The MCP server did not answer; nothing was called.", {
    cause,
    retryable: true,
  });
}

/** The codes for a refusal of the server, and for a timeout. */
interface AnswerCodes {
  refused: string;
  late: string;
}

const codesOfTools: AnswerCodes = { refused: "mcp_tool_error", late: "tool_execution_failed" };

/** A server's refusal has the server's message, which is data for the caller. Other errors are not shown to callers. */
export function toToolError(error: unknown, codes = codesOfTools): never {
  if (error instanceof AnswerTooLargeError || codeOf(error) === tooLargeCode) throw tooLarge();
  if (error instanceof ProtocolError && error.code === changedNumberCode) throw changedNumber(error.message);
  const isUnknownResult = error instanceof SdkError && error.code === SdkErrorCode.UnsupportedResultType;
  if (isUnknownResult) throw unsupported("It answered with a question or a task instead of a result.");
  if (error instanceof UrlElicitationRequiredError || error instanceof MissingRequiredClientCapabilityError) {
    throw unsupported(error.message);
  }
  if (isLate(error)) {
    const message = "The MCP server did not answer in time; the effect may have happened.";
    throw new ToolError(codes.late, message, { cause: error, retryable: false });
  }
  if (error instanceof ProtocolError && error.code !== brokenOffCode) throw refused(error.message, codes.refused);
  throw error;
}

/** Whether a server did not answer in time. */
export function isLate(error: unknown): boolean {
  return error instanceof SdkError && error.code === SdkErrorCode.RequestTimeout;
}

function codeOf(error: unknown): number | undefined {
  return error instanceof ProtocolError ? error.code : undefined;
}

/** The parts of a successful result: the output, and the metadata beside it. */
export interface AnswerParts {
  output: JsonValue;
  metadata: { mcp: JsonObject };
}

/**
 * The parts of a tool's answer without hidden characters: its structured content with the content beside it, or its content
 * alone. The output and what is beside it may each have `maxBytes`.
 */
export function partsOf(answer: ToolAnswer, isStructureDeclared: boolean, maxBytes: number): AnswerParts {
  const { content, structuredContent, isError, _meta } = answer;
  if (isError === true) throw refused(textsOf(content).join("\n"));
  if (structuredContent === undefined && isStructureDeclared) {
    throw new ToolError("invalid_tool_result", "The MCP server did not answer with the output that it declares.");
  }
  const meta = metaOf(_meta);
  const beside = { ...(structuredContent !== undefined && { content }), ...(meta && { _meta: meta }) };
  return {
    output: plainAnswer(structuredContent === undefined ? { content } : structuredContent, maxBytes),
    metadata: { mcp: plainAnswer(beside, maxBytes) as JsonObject },
  };
}

function textsOf(content: ToolAnswer["content"]): string[] {
  return content.flatMap(({ type, text }) => (type === "text" && typeof text === "string" ? [text] : []));
}

function metaOf(meta: Record<string, unknown> | undefined): Record<string, unknown> | undefined {
  // The key is compared without hidden characters, as later readers see it.
  const own = Object.entries(meta ?? {}).filter(([key]) => !isReserved(withoutHiddenText(key)));
  return own.length === 0 ? undefined : Object.fromEntries(own);
}

/**
 * Whether a server may not set a key of `_meta`: the protocol's keys are about the connection to the server, and the host's own
 * keys are about what the gate decided.
 */
function isReserved(key: string): boolean {
  const prefix = key.slice(0, Math.max(0, key.indexOf("/"))).toLowerCase();
  const labels = prefix.split(".");
  return prefix === "turnpike" || labels.includes("modelcontextprotocol") || labels.includes("mcp");
}

/**
 * What a server answered, within `maxBytes`. Models read it and people see it, so hidden text is removed. Base64 has no such
 * characters, and stays as it is.
 */
export function plainAnswer(answer: unknown, maxBytes: number): JsonValue {
  if (Buffer.byteLength(JSON.stringify(answer)) > maxBytes) throw tooLarge();
  try {
    return plainJson(answer as JsonValue);
  } catch (error) {
    if (!(error instanceof HiddenTextError)) throw error;
    throw new ToolError(
      "invalid_tool_result",
      "The MCP server answered with names that only differ in hidden characters.",
    );
  }
}

function refused(text: string, code = "mcp_tool_error"): ToolError {
  const silence = code === "mcp_tool_error" ? "The tool failed and did not say why." : "The server did not say why.";
  return new ToolError(code, plainText(text, maxErrorText) || silence);
}

function unsupported(words: string): ToolError {
  const said = plainText(words, maxErrorText / 2);
  return new ToolError("mcp_unsupported", `The MCP server asks for something that the host does not carry. ${said}`, {
    retryable: false,
  });
}

function changedNumber(problem: string): ToolError {
  const what =
    "The MCP server answered with a number that cannot be handed on as it is; the call may have had an effect.";
  return new ToolError("invalid_tool_result", `${what} ${plainText(problem, maxErrorText / 2)}`, { retryable: false });
}

function tooLarge(): ToolError {
  return new ToolError(
    "output_too_large",
    "The tool's output is larger than the host takes; it may have had an effect.",
    { retryable: false },
  );
}
