export { pageReply } from "./sign-in-page.ts";
export { queryOf, signInProtocol } from "./sign-in-protocol.ts";
