import type { ToolResultPart } from "ai";
import type { ErrorObject, JsonObject, JsonValue, ToolResult } from "turnpike/contracts";
import { bytesIn, isBase64 } from "./payload.ts";

type Output = ToolResultPart["output"];
type ContentPart = Extract<Output, { type: "content" }>["value"][number];

/** A result as a model reads it. Images among its parts are sent where the provider takes them, and named in words elsewhere. */
export function outputOf(result: ToolResult | undefined, showsImages: boolean): Output | undefined {
  if (result === undefined) return undefined;
  if (result.status !== "succeeded") return outputOfError(result.error, result.status);
  const { output } = result;
  const parts = partsIn(result);
  if (parts === undefined)
    return typeof output === "string" ? { type: "text", value: output } : { type: "json", value: output };
  const contents = parts.map((part) => contentOf(part, showsImages));
  const images = contents.filter(({ type }) => type === "image-data");
  const texts = contents.flatMap((part) => ("text" in part ? [part.text] : []));
  const text = texts.length > 0 ? texts.join("\n") : "The images follow.";
  // Exactly one text: older models of Google get each of them as a result of its own, and accept one for each call.
  return images.length > 0
    ? { type: "content", value: [{ type: "text", text }, ...images] }
    : { type: "text", value: text };
}

/** A call that failed or was denied, as a model reads it. */
export function outputOfError(error: ErrorObject, status = "failed"): Output {
  return { type: "error-json", value: { status, error: { ...error } } };
}

/**
 * The parts of a result that has media in it: as MCP servers say them, in the output itself or beside a structured output,
 * which then comes first. Undefined for every other result.
 */
function partsIn({ output, metadata }: ToolResult & { status: "succeeded" }): JsonObject[] | undefined {
  const beside = listOf(objectOf(metadata?.["mcp"])?.["content"]);
  const own = listOf(objectOf(output)?.["content"]);
  const media = beside?.filter(isMedia) ?? [];
  if (media.length > 0) return [{ type: "text", text: JSON.stringify(output) }, ...media];
  return own?.some(isMedia) === true ? own : undefined;
}

function contentOf(part: JsonObject, showsImages: boolean): ContentPart {
  const { type, text } = part;
  if (type === "text" && typeof text === "string") return { type, text };
  const media = mediaOf(part);
  if (media === undefined) return { type: "text", text: JSON.stringify(part) };
  const { data, mediaType } = media;
  // Other kinds of images are refused by providers, and the whole request with them.
  if (showsImages && /^image\/(png|jpeg|gif|webp)$/.test(mediaType) && isBase64(data))
    return { type: "image-data", data, mediaType };
  return { type: "text", text: `[${JSON.stringify(mediaType)} of ${bytesIn(data)} bytes, which you cannot be shown.]` };
}

function isMedia(part: JsonObject): boolean {
  return mediaOf(part) !== undefined;
}

/** The bytes of an image, of audio, or of a resource that is embedded. */
function mediaOf({ type, data, mimeType, resource }: JsonObject): { data: string; mediaType: string } | undefined {
  const embedded = type === "resource" ? objectOf(resource) : undefined;
  const bytes = embedded === undefined ? data : embedded["blob"];
  const isKnown = type === "image" || type === "audio" || embedded !== undefined;
  if (!isKnown || typeof bytes !== "string" || bytes === "") return undefined;
  const mediaType = embedded === undefined ? mimeType : embedded["mimeType"];
  return { data: bytes, mediaType: typeof mediaType === "string" ? mediaType : "application/octet-stream" };
}

function objectOf(value: JsonValue | undefined): JsonObject | undefined {
  return typeof value === "object" && value !== null && !Array.isArray(value) ? value : undefined;
}

/** A list of objects; undefined when it is something else. */
function listOf(value: JsonValue | undefined): JsonObject[] | undefined {
  if (!Array.isArray(value)) return undefined;
  const objects = value.map(objectOf).filter((part) => part !== undefined);
  return objects.length === value.length ? objects : undefined;
}
