import { fileURLToPath } from "node:url";

/** The repository's root folder. */
export const repository: string = fileURLToPath(new URL("../..", import.meta.url));
