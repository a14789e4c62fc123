export { queryOf } from "./addresses.ts";
export { pageReply } from "./sign-in-page.ts";
export { signInProtocol } from "./sign-in-protocol.ts";
