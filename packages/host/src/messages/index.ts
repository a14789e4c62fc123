export { createMessageStore, type MessageStore } from "./message-store.ts";
export { messageTools } from "./message-tools.ts";
export { messageTransport } from "./message-transport.ts";
