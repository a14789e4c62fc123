import { handler } from "./greeting-service.js";

export default { fetch: handler };
