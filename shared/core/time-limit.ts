/**
 * Returns the result of `work`, or rejects with `late()` after `ms` milliseconds. The work then continues, and its
 * errors are ignored.
 */
export async function withTimeLimit<T>(work: Promise<T>, ms: number, late: () => Error): Promise<T> {
  let timer: NodeJS.Timeout | undefined;
  const limit = new Promise<never>((_, reject) => {
    timer = setTimeout(() => reject(late()), ms);
  });
  try {
    return await Promise.race([work, limit]);
  } finally {
    clearTimeout(timer);
  }
}
