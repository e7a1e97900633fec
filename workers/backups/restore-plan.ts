export interface ObservedRestore {
  /** True if the restore moved the previous data aside, or found that the volume had none. */
  before: boolean;
  /** True if the volume has data in the place where the service uses it. */
  data: boolean;
}

/**
 * Decides how to continue a restore whose worker died. `begin`: no data was moved aside. `confirm`: all data was moved
 * aside and replaced. The service runs on the restored data, and restoring again would lose later writes. `putBack`:
 * only a part was replaced. The data that was moved aside is put back, and the restore starts again.
 */
export function decideRestore(volumes: readonly ObservedRestore[]): 'begin' | 'putBack' | 'confirm' {
  if (!volumes.some(({ before }) => before)) return 'begin';
  return volumes.every(({ before, data }) => before && data) ? 'confirm' : 'putBack';
}
