// Opens the place of a setting or an argument.
import type { PlaceSettings } from "../settings/backup-settings.ts";
import { openFolderPlace } from "./backup-folder.ts";
import type { Place } from "./backup-place.ts";

/** Opens a place. Loads the code of a bucket only for one. */
export async function openPlace({ name, to, bucket }: PlaceSettings): Promise<Place> {
  if (bucket === undefined) return openFolderPlace(to, name);
  const { openBucketPlace } = await import("./backup-bucket.ts");
  return openBucketPlace(to, bucket);
}
