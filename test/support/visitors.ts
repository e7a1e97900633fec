import { setTimeout as delay } from 'node:timers/promises';

const VISITORS = 4;
/** Between two visits of one visitor: four make about eighty a second. Without it, they would take the processor from the platform. */
const PAUSE_MS = 50;

interface Visits {
  /** The different answers, sorted, as `200 text`; an error has the status 0. */
  answers: string[];
  count: number;
}

/** Visits a service again and again while `work` is done. `get` is told the number of the visitor. */
export async function visitsDuring(
  work: () => Promise<unknown>,
  get: (visitor: number) => Promise<{ status: number; body: string }>,
  visitors = VISITORS,
): Promise<Visits> {
  const answers = new Set<string>();
  let [visiting, count] = [true, 0];
  const all = Array.from({ length: visitors }, async (_, visitor) => {
    while (visiting) {
      const { status, body } = await get(visitor).catch((error) => ({ status: 0, body: String(error) }));
      answers.add(`${status} ${body}`);
      count += 1;
      await delay(PAUSE_MS);
    }
  });
  await work().finally(() => {
    visiting = false;
  });
  await Promise.all(all);
  return { answers: [...answers].sort(), count };
}
