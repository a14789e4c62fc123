export { type CedarExport, cedarOf } from "./cedar-export.ts";
