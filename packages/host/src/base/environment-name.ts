import { z } from "zod";

/** The name of a variable that holds a secret: what is pasted here by mistake is no name, and so never shown. */
export const EnvironmentNameSchema = z
  .string()
  .regex(/^[A-Z][A-Z0-9_]*$/, "expected the name of an environment variable, in capitals")
  .refine(
    (name) => !name.startsWith("TURNPIKE_"),
    "expected a name that does not begin with TURNPIKE_, as settings do",
  );
