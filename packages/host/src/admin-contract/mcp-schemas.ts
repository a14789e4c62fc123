import { JsonValueSchema, TimestampSchema } from "turnpike/contracts";
import { z } from "zod";
import { HashSchema } from "./records.ts";

/** A name as the configuration has it. */
export const serverName = {
  server: z
    .string()
    .regex(/^[a-z0-9][a-z0-9_-]{0,62}$/, "expected the name of an MCP server")
    .meta({ description: "the MCP server's name in the configuration" }),
};

/** A tool's name as its server has it. */
export const toolName = { tool: z.string().min(1).max(128) };
const hash = { hash: HashSchema.meta({ description: "of the whole definition, as the server says it" }) };
const acceptance = {
  acceptedAt: TimestampSchema.optional().meta({ description: "when the pinned definition was accepted" }),
  acceptedBy: z
    .string()
    .optional()
    .meta({ description: "by whom; `service:host` for what was there at the first use" }),
};

const reading = {
  ...serverName,
  isAvailable: z.boolean().meta({ description: "false when the server does not say what its tools are" }),
  seenAt: TimestampSchema.optional().meta({ description: "when this host last read its list" }),
};

export const McpServerSchema = z.strictObject({
  ...reading,
  tools: z.array(
    z.strictObject({
      ...toolName,
      state: z.enum(["pinned", "changed", "new", "gone"]).meta({
        description: "offered as it was accepted; withdrawn, because it changed or is new; or not there right now",
      }),
      ...hash,
      ...acceptance,
      withdrawnAt: TimestampSchema.optional().meta({
        description: "since when a host knows that a tool that was accepted is something else now",
      }),
    }),
  ),
});

/** An MCP server with the states of its tools. */
export type McpServer = z.infer<typeof McpServerSchema>;

const DifferenceSchema = z.strictObject({
  path: z.array(z.string()).meta({ description: "where in the definition" }),
  before: JsonValueSchema.optional().meta({ description: "absent when it was not there" }),
  after: JsonValueSchema.optional().meta({ description: "absent when it is there no more" }),
});

/** A value of a definition that is another than it was. */
export type Difference = z.infer<typeof DifferenceSchema>;

export const McpReviewSchema = z.strictObject({
  ...reading,
  tools: z
    .array(
      z.strictObject({
        ...toolName,
        state: z.enum(["changed", "new"]),
        ...hash,
        ...acceptance,
        differences: z.array(DifferenceSchema),
      }),
    )
    .meta({ description: "those that are withdrawn until an operator accepts them" }),
});

/** What there is to accept of an MCP server. */
export type McpReview = z.infer<typeof McpReviewSchema>;

/** Which definitions are accepted: exactly those that were shown. */
export const AcceptedToolsSchema = z.strictObject({
  tools: z
    .array(z.strictObject({ ...toolName, ...hash }))
    .min(1)
    .max(1024),
});
