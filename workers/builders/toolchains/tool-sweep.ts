/** How long a tool that no image needs may be unused before it is removed, in milliseconds. */
const UNUSED_MS = 14 * 24 * 60 * 60_000;
/** Maximum number of tools that are kept although no image needs them. */
const MAX_UNWANTED = 20;
/** A tool that was used within this time, in milliseconds, may belong to a running build and is not removed. */
const BUSY_MS = 24 * 60 * 60_000;

/** Returns the installed tools that a sweep removes. Times are in milliseconds since the epoch. */
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
