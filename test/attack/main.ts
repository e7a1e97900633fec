import { parseArgs } from 'node:util';
import { Agent, setGlobalDispatcher } from 'undici';
import { table } from '../chaos/entries.js';
import { mochaGlobalTeardown, startTestPostgres } from '../support/postgres.js';
import { BEHAVIOURS } from './behaviours.js';
import { runAttack } from './run.js';
import { CASES } from './run-cases.js';

/** `npm run attack -- --seed N [--minutes M] [--short] [--only <name>,…]`: exits with 1 if an attack succeeded. */
// Each request gets its own connection: the platform closes idle ones, and a busy client may see that too late.
setGlobalDispatcher(new Agent({ pipelining: 0 }));

const { values } = parseArgs({
  options: {
    seed: { type: 'string', default: '1' },
    minutes: { type: 'string' },
    short: { type: 'boolean', default: false },
    only: { type: 'string', default: '' },
  },
});
const minutes = Number(values.minutes ?? (values.short ? '0.5' : '4'));
const wanted = values.only.split(',').filter((name) => name !== '');
const isWanted = ({ name }: { name: string }) => wanted.length === 0 || wanted.some((part) => name.includes(part));
const behaviours = BEHAVIOURS.filter(isWanted);
const cases = CASES.filter((one) => isWanted(one) && (one.short || !values.short));
if (behaviours.length + cases.length === 0) {
  const names = [...CASES, ...BEHAVIOURS].map(({ name }) => name).join('\n');
  throw new Error(`There is no attack ${wanted.join(', ')}; there are:\n${names}`);
}

await startTestPostgres({ durable: false });
let clean = false;
try {
  const seed = Number(values.seed);
  const result = await runAttack({ seed, minutes, behaviours, cases, judgesTimes: !values.short });
  clean = result.entries.every(({ wrong }) => wrong.length === 0);
  const counts = [...result.acted].sort().map(([name, times]) => `${name}: ${times}`);
  process.stdout.write(
    `attack: seed ${values.seed}, ${minutes} min\n${counts.join(', ')}\n\n${result.cases}\n\n${table(result.entries)}\n\n${clean ? 'Nobody was hurt.' : 'SOMEBODY WAS HURT.'}\n`,
  );
} finally {
  await mochaGlobalTeardown();
}
process.exitCode = clean ? 0 : 1;
