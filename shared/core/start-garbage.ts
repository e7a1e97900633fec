import { setFlagsFromString } from 'node:v8';

/**
 * Milliseconds after the start. At first the process has opened its connections and looked at everything once. Then so little is
 * allocated that V8 also gives the memory of young objects back.
 */
const COLLECT_AFTER_MS = [5_000, 20_000];
/** If the event loop was busy for a larger share of this time, the collection waits for a quieter moment. */
const MOST_BUSY = 0.2;
const LOOK_MS = 1_000;

/**
 * Collects what only the start of the process has used, if Node runs with --expose-gc as in the Procfile. V8 itself does so
 * when the heap has grown to a multiple, which that of a process at rest never does. Each time takes 25 to 50 ms.
 */
export function collectStartGarbage(): void {
  const { gc } = globalThis;
  if (gc === undefined) return;
  for (const ms of COLLECT_AFTER_MS) setTimeout(() => compactWhenIdle(gc), ms - LOOK_MS).unref();
}

function compactWhenIdle(gc: NodeJS.GCFunction): void {
  const before = performance.eventLoopUtilization();
  setTimeout(() => {
    if (performance.eventLoopUtilization(before).utilization > MOST_BUSY) compactWhenIdle(gc);
    else compact(gc);
  }, LOOK_MS).unref();
}

/** With this flag a collection moves the objects of pages that are partly empty, which gives 3 MiB more back. */
function compact(gc: NodeJS.GCFunction): void {
  setFlagsFromString('--optimize-for-size');
  try {
    gc();
  } finally {
    setFlagsFromString('--no-optimize-for-size');
  }
}
