export type { FileServices } from "./file-action.ts";
export { fileProvider } from "./file-provider.ts";
export { createFileStore, type FileStore } from "./file-store.ts";
export { removeSomeFiles } from "./remove-files.ts";
export { fileTools } from "./file-tools.ts";
