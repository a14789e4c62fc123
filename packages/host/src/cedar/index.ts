export { cedarOf } from "./cedar-export.ts";
