import { setTimeout as delay } from 'node:timers/promises';

const VISITORS = 4;
/** Pause between two requests of one visitor. Without it, four visitors would take the processor from the platform. */
const PAUSE_MS = 50;

interface Visits {
  answers: string[];
  count: number;
}

/** Sends requests to a service while `work` runs. `get` receives the number of the visitor. */
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
