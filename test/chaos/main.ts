import { parseArgs } from 'node:util';
import { mochaGlobalTeardown, startTestPostgres, useTestPostgres } from '../support/postgres.js';
import { PostgresPair } from '../support/postgres-pair.js';
import { table } from './entries.js';
import { runChaos } from './run.js';

/** `npm run chaos -- --seed N [--engine …] [--runtime process|swarm] [--standby] …`: exits with 1 if a check fails. */
const { values } = parseArgs({
  options: {
    seed: { type: 'string', default: '1' },
    deployments: { type: 'string', default: '300' },
    engine: { type: 'string', default: 'postgres' },
    runtime: { type: 'string', default: 'process' },
    services: { type: 'string', default: '30' },
    workspaces: { type: 'string', default: '5' },
    standby: { type: 'boolean', default: false },
    wakes: { type: 'string', default: '0' },
  },
});
const engine = values.engine === 'redis' ? 'redis' : 'postgres';
const runtime = values.runtime === 'swarm' ? 'swarm' : 'process';

const pair = values.standby ? await PostgresPair.start() : null;
if (pair === null) await startTestPostgres({ durable: true });
else await useTestPostgres(pair.url);
let clean = false;
try {
  const { entries, faults, requests, seconds } = await runChaos({
    seed: Number(values.seed),
    deployments: Number(values.deployments),
    engine,
    runtime,
    services: Number(values.services),
    workspaces: Number(values.workspaces),
    pair,
    wakes: Number(values.wakes),
  });
  clean = entries.every(({ wrong }) => wrong.length === 0);
  const counts = (map: ReadonlyMap<string, number>) =>
    [...map]
      .sort()
      .map(([what, n]) => `${what}: ${n}`)
      .join(', ');
  process.stdout.write(
    `chaos: seed ${values.seed}, queues on ${engine}, runtime ${runtime}, ${seconds} s\nfaults: ${counts(faults)}\nrequests: ${counts(requests)}\n\n${table(entries)}\n\n${clean ? 'The books balance.' : 'THE BOOKS DO NOT BALANCE.'}\n`,
  );
} finally {
  await mochaGlobalTeardown();
  await pair?.stop();
}
process.exitCode = clean ? 0 : 1;
