import type { Queue } from 'bullmq';
import { QUEUES, type QueueName } from './work-catalog.js';

/** Deletes finished jobs beyond the maximum age or number in `QUEUES`. Returns their number. */
export async function removeOldJobs(queues: readonly Queue[]): Promise<number> {
  let removed = 0;
  for (const queue of queues) {
    const { keepCompleted, keepFailed } = QUEUES[queue.name as QueueName];
    removed += await removeEnded(queue, 'completed', keepCompleted);
    removed += await removeEnded(queue, 'failed', keepFailed);
  }
  return removed;
}

async function removeEnded(
  queue: Queue,
  state: 'completed' | 'failed',
  { count, age }: { count: number; age: number },
): Promise<number> {
  const [first] = await queue.getJobs([state], count, count);
  const ended = first?.finishedOn;
  // BullMQ can delete jobs only by age. The limit is the age of `first`, the newest job beyond the maximum number. The
  // 5 ms keep jobs that finished at about the same time as `first`.
  const kept = ended === undefined ? age * 1000 : Math.min(age * 1000, Date.now() - ended + 5);
  return (await queue.clean(kept, 0, state)).length;
}
