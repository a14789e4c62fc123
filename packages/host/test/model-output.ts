/** A schema for the output of a turn. */
export const schema = {
  type: "object",
  properties: { city: { type: "string", description: "Where it is." }, isLarge: { type: "boolean" } },
  required: ["city", "isLarge"],
  additionalProperties: false,
};

/** The metadata of a turn that asks for it. */
export const metadata = { output: { schema } };

/** What fits, as a value and as the model says it. */
export const output = { city: "Paris", isLarge: true };
export const text = JSON.stringify(output);
