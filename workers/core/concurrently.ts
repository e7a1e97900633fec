/** Calls `work` for each item, at most `most` at once. After an error, rejects and starts no further item. */
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
