/** How long the work takes, in milliseconds. */
export async function measure(work: () => Promise<unknown>): Promise<number> {
  const begun = performance.now();
  await work();
  return performance.now() - begun;
}

export function median(values: readonly number[]): number {
  return [...values].sort((a, b) => a - b)[Math.floor(values.length / 2)] ?? 0;
}

export function print(line: string): void {
  process.stdout.write(`${line}\n`);
}
