import type { Prompt, Resource, ResourceTemplateType } from "@modelcontextprotocol/client";

/** What an MCP server has besides its tools, cleaned and within limits. Grants are checked later. */
export interface ServerOffer {
  server: string;
  /** The resource namespace in which it is read and used, which is the tool namespace too: `mcp.<server>`. */
  namespace: string;
  resources: readonly Resource[];
  resourceTemplates: readonly ResourceTemplateType[];
  prompts: readonly Prompt[];
}

/** The step of a path that encodes a URI or a name of a server; undefined when it is too long for one. */
export function offerSegment(text: string): string | undefined {
  try {
    const segment = encodeURIComponent(text);
    const isOne = segment !== "" && segment !== "." && segment !== ".." && segment.length <= 256;
    return isOne ? segment : undefined;
  } catch {
    return undefined;
  }
}

/** The URI or the name that a step of a path encodes; undefined when the step is not one of `offerSegment`. */
export function fromOfferSegment(segment: string): string | undefined {
  try {
    const text = decodeURIComponent(segment);
    return offerSegment(text) === segment ? text : undefined;
  } catch {
    return undefined;
  }
}
