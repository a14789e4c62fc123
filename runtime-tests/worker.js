import { handler } from "./world.js";

export default { fetch: handler };
