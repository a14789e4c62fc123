export { acceptLoss } from "./database-operations.ts";
export { adminProtocol } from "./admin-protocol.ts";
export type { AdminServices } from "./admin-services.ts";
