export { serviceProtocol } from "./service-protocol.ts";
