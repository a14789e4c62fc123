// Makes a host of this process the next version: it has one more migration, which the version before may not serve beside.
import { postgresMigrations } from "../../packages/host/dist/storage/migrations/postgres.js";

postgresMigrations.push({
  name: "9001-next",
  allowsPrevious: false,
  statements: ["create table next_version (id integer)"],
});
