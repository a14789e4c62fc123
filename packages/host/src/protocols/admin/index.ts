export { createAdminHandler } from "./admin-handler.ts";
