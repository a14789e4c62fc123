import { describeFaults } from "../../test/store-faults.ts";
import { storeOperations } from "../../test/store-operations/index.ts";

describeFaults(storeOperations["connections"] ?? {});
