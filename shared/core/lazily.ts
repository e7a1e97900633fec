/**
 * Returns a function that creates a value at its first call and returns the same value from then on. If `make` throws,
 * the next call tries again.
 */
export function lazily<T>(make: () => T): () => T {
  let made: { value: T } | undefined;
  return () => {
    made ??= { value: make() };
    return made.value;
  };
}
