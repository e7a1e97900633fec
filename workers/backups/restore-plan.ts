/** What a restore finds on the volume: the replaced data under its temporary name, and data in its place. */
export interface ObservedRestore {
  before: boolean;
  data: boolean;
}

/**
 * Decides how a restore goes on after its worker died. Data is moved aside and only then replaced. If both are there, the replacement is
 * done: the server runs on the restored data, and restoring again would lose later writes. If data was moved aside and not replaced, it is
 * put back first. In every other case the restore begins anew.
 */
export function decideRestore({ before, data }: ObservedRestore): 'begin' | 'putBack' | 'confirm' {
  if (!before) return 'begin';
  return data ? 'confirm' : 'putBack';
}
