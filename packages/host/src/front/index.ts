export { createFront, type Front, frontErrors } from "./front.ts";
export { ListenSchema, PublicUrlSchema, TlsSchema } from "./front-settings.ts";
export { escapeHtml, htmlReply, pageReply, redirectReply } from "./html-page.ts";
export { startServer } from "./node-server.ts";
export { createOriginOf, type OriginOf } from "./origin.ts";
export {
  queryOf,
  serveProtocol,
  type IncomingRequest,
  type Protocol,
  type ProtocolRoute,
  type ServedProtocol,
} from "./protocol.ts";
export { createReadiness, UnreadyError } from "./readiness.ts";
export { answerInSlot, createStreamSlots, type StreamLimit, type StreamSlots } from "./stream-slots.ts";
export { wireErrors } from "./wire-errors.ts";
