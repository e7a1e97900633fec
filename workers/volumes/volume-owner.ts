import type { ReleaseSpec } from '../runtime/runtime-driver.js';
import { firstImageUser, isRoot, uidOf } from '../sandbox/service-users.js';
import type { VolumeContent } from './volume-program.js';

/** Returns which Linux user ID owns the content of a release's volumes on this host. */
export function ownerOfVolumes({
  userNumber,
  image,
}: Pick<ReleaseSpec, 'userNumber' | 'image'>): Pick<VolumeContent, 'uid' | 'ownersDiffer'> {
  if (!isRoot()) return { uid: process.getuid?.() ?? 0, ownersDiffer: false };
  const { process: own } = image.manifest;
  if (own === undefined) return { uid: uidOf(userNumber), ownersDiffer: false };
  return { uid: firstImageUser() + own.user.uid, ownersDiffer: true };
}
