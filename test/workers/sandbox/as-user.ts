import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { reachedBy } from './neighbour.js';
import { Playground } from './support.js';

/**
 * Runs as an ordinary user: makes the strongest sandbox, runs the command of the first argument, starts and stops a
 * detached one, and prints what happened as JSON.
 */
const ground = await Playground.create();
const { outcome, stdout, stderr } = await ground.run(process.argv[2] ?? 'true');
const spec = await ground.spec('echo runs; trap "echo ends; exit 3" TERM; while :; do sleep 0.1; done');
const files = { logFile: join(ground.dataDir, 'log'), exitFile: join(ground.dataDir, 'exit') };
const started = await ground.sandbox.start(spec, files);
const log = () => readFile(files.logFile, 'utf8').catch(() => '');
for (let tries = 0; tries < 300 && !(await log()).includes('runs'); tries++) await sleep(50);
const members = (await ground.left(spec.id)).length;
await ground.sandbox.stop(spec.id, started, 20_000);
const reached = await reachedBy(ground);
const result = {
  reached,
  level: ground.sandbox.level,
  outcome,
  stdout,
  stderr,
  detached: { members, log: await log(), exit: await readFile(files.exitFile, 'utf8'), left: await ground.left() },
};
await ground.destroy();
process.stdout.write(`${JSON.stringify(result)}\n`, () => process.exit(0));
