import { parentPort, workerData } from 'node:worker_threads';
import { type FaultThreadData, type FaultThreadMessage, noteFaults } from './fault-watch.js';

/** The worker thread of `FaultWatch`: it watches the event loop of the main thread. */
const { counter, folder, tickMs, ticks } = workerData as FaultThreadData;
const view = new Int32Array(counter);
const running = new Set<string>();
let last = -1;
let still = 0;

parentPort?.on('message', (message: FaultThreadMessage) => {
  if ('begins' in message) running.add(message.begins);
  else running.delete(message.ends);
});

setInterval(() => {
  const now = Atomics.load(view, 0);
  still = now === last ? still + 1 : 0;
  last = now;
  if (still === ticks) noteFaults(folder, running);
}, tickMs);
