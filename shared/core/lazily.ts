/** Makes the value with the first call, and returns the same one in later calls. If `make` throws, the next call tries again. */
export function lazily<T>(make: () => T): () => T {
  let made: { value: T } | undefined;
  return () => {
    made ??= { value: make() };
    return made.value;
  };
}
