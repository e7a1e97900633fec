import { parseArgs } from 'node:util';
import { table } from '../chaos/entries.js';
import { mochaGlobalTeardown, startTestPostgres } from '../support/postgres.js';
import { BEHAVIOURS } from './behaviours.js';
import { runAttack } from './run.js';

/** `npm run attack -- --seed N [--minutes M] [--only <name>,…]`: exits 1 if a neighbour or the platform was hurt. */
const { values } = parseArgs({
  options: {
    seed: { type: 'string', default: '1' },
    minutes: { type: 'string', default: '5' },
    only: { type: 'string', default: '' },
  },
});
const wanted = values.only.split(',').filter((name) => name !== '');
const unknown = wanted.filter((name) => !BEHAVIOURS.some((behaviour) => behaviour.name === name));
if (unknown.length > 0) {
  const names = BEHAVIOURS.map(({ name }) => name).join(', ');
  throw new Error(`There is no hostile behaviour ${unknown.join(', ')}; there are: ${names}`);
}

await startTestPostgres({ durable: false });
let clean = false;
try {
  const { entries, acted } = await runAttack({
    seed: Number(values.seed),
    minutes: Number(values.minutes),
    behaviours: wanted.length === 0 ? BEHAVIOURS : BEHAVIOURS.filter(({ name }) => wanted.includes(name)),
  });
  clean = entries.every(({ wrong }) => wrong.length === 0);
  const counts = [...acted].sort().map(([name, times]) => `${name}: ${times}`);
  process.stdout.write(
    `attack: seed ${values.seed}, ${values.minutes} min\n${counts.join(', ')}\n\n${table(entries)}\n\n${clean ? 'Nobody was hurt.' : 'SOMEBODY WAS HURT.'}\n`,
  );
} finally {
  await mochaGlobalTeardown();
}
process.exitCode = clean ? 0 : 1;
