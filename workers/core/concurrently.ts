/**
 * Calls `work` for each item in order, at most `most` at once, and resolves when all have ended.
 * Rejects with the first error, and then starts no further item.
 */
export async function concurrently<T>(
  items: readonly T[],
  most: number,
  work: (item: T) => Promise<void>,
): Promise<void> {
  const waiting = [...items];
  const next = async () => {
    try {
      for (let item = waiting.shift(); item !== undefined; item = waiting.shift()) await work(item);
    } catch (error) {
      waiting.length = 0;
      throw error;
    }
  };
  await Promise.all(Array.from({ length: Math.min(most, items.length) }, next));
}
