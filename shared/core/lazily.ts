/**
 * Returns a function that makes the value in its first call and returns it in later ones.
 * If `make` throws, the next call tries again.
 */
export function lazily<T>(make: () => T): () => T {
  let made: { value: T } | undefined;
  return () => {
    made ??= { value: make() };
    return made.value;
  };
}
