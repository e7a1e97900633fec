/** A tool that no image needs is removed after this time without use, in milliseconds. */
const UNUSED_MS = 14 * 24 * 60 * 60_000;
/** At most this many tools stay besides those that images need. */
const MAX_UNWANTED = 20;
/** A tool that was used within this time may belong to a running build, in milliseconds. */
const BUSY_MS = 24 * 60 * 60_000;

/**
 * Returns the installed tools that a sweep removes, the longest unused first. These are tools that no image needs, if
 * they were unused for two weeks or if there are more than 20 of them. Times are in milliseconds since the epoch.
 */
export function toolsToRemove(
  tools: readonly { name: string; usedAt: number }[],
  isWanted: (name: string) => boolean,
  now: number,
): string[] {
  const unwanted = tools.filter(({ name }) => !isWanted(name)).sort((a, b) => b.usedAt - a.usedAt);
  return unwanted
    .filter(({ usedAt }, place) => now - usedAt > (place >= MAX_UNWANTED ? BUSY_MS : UNUSED_MS))
    .map(({ name }) => name);
}
