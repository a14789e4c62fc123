// Turnpike inside a Next app: this folder is where the gate is, and the gate's base path says so.
import { gate } from "../../../../gate";

export { gate as GET, gate as HEAD, gate as POST, gate as PUT };
