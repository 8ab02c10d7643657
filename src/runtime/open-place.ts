// Opens the place of a setting or an argument.
import { openFolderPlace } from "./backup-folder.ts";
import type { Place } from "./backup-place.ts";

/** Opens a place as `BACKUP_TO` names it. */
export const openPlace = (to: string): Place => openFolderPlace(to);
