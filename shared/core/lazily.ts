/** Returns a function that calls `make` once and keeps its value. If `make` throws, the next call tries again. */
export function lazily<T>(make: () => T): () => T {
  let made: { value: T } | undefined;
  return () => {
    made ??= { value: make() };
    return made.value;
  };
}
