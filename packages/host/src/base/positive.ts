import { z } from "zod";

/** A number of something that there has to be at least one of. */
export const positive = z.int().min(1);
