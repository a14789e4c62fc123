import { setTimeout as sleep } from "node:timers/promises";
import { operatorsTenant } from "../../admin-contract/index.ts";
import { type DatabaseCopy, NoRoomError } from "../../storage/index.ts";
import { conflict, type AdminFiles, type AdminServices } from "./admin-services.ts";

/** How long to wait for the file of a finished copy to be gone, which is an instant after its last bytes were read. */
const instantMs = 1000;

/**
 * Copying the database while the host runs. INVARIANT: there is one copy at a time, until its reader has all of it or leaves.
 * Otherwise slow readers of several copies would fill the disk.
 */
export function backupFiles({ database }: AdminServices): AdminFiles {
  let isHeld = false;
  let gone: Promise<void> = Promise.resolve();
  return {
    async createBackup(_input, operator) {
      const { copy } = database;
      if (copy === undefined)
        throw conflict(
          "This host's database is a PostgreSQL, which has tools of its own: use pg_dump, or its archive.",
        );
      if (isHeld) await Promise.race([gone, sleep(instantMs)]);
      if (isHeld) throw conflict("Another backup is being made or sent right now. Wait until it is there.");
      isHeld = true;
      const letGo = (): void => void (isHeld = false);
      const copyOrRefuse = async (): Promise<DatabaseCopy> => {
        try {
          return await copy();
        } catch (error) {
          throw error instanceof NoRoomError ? conflict(error.message) : error;
        }
      };
      try {
        const made = await operator.change({ namespaceId: operatorsTenant, action: "backup.create" }, copyOrRefuse);
        gone = made.gone.then(letGo);
        return made;
      } catch (error) {
        letGo();
        throw error;
      }
    },
  };
}
