import { z } from "zod";
import { type AdminRoute, admins, changeErrors } from "../admin-route.ts";

/** The routes of backups. */
export const backupRoutes = {
  createBackup: {
    method: "POST",
    path: "/admin/v1/backup",
    roles: admins,
    about: "host",
    summary:
      "Copies the SQLite database while the host goes on, and answers with the file: everything that was acknowledged before.",
    request: z.strictObject({}),
    response: z.string().meta({ description: "An SQLite file.", format: "binary" }),
    isFile: true,
    errors: ["conflict", ...changeErrors],
  },
} as const satisfies Record<string, AdminRoute>;
