import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { reachedBy } from './neighbour.js';
import { SandboxFixture } from './support.js';

/** Prints the results of commands in the strongest sandbox of an ordinary user as JSON. */
const fixture = await SandboxFixture.create();
const { outcome, stdout, stderr } = await fixture.run(process.argv[2] ?? 'true');
const spec = await fixture.spec('echo runs; trap "echo ends; exit 3" TERM; while :; do sleep 0.1; done');
const files = { logFile: join(fixture.dataDir, 'log'), exitFile: join(fixture.dataDir, 'exit') };
const started = await fixture.sandbox.start(spec, files);
const log = () => readFile(files.logFile, 'utf8').catch(() => '');
for (let tries = 0; tries < 300 && !(await log()).includes('runs'); tries++) await sleep(50);
const members = (await fixture.left(spec.id)).length;
await fixture.sandbox.stop(spec.id, started, 20_000);
const reached = await reachedBy(fixture);
const result = {
  reached,
  level: fixture.sandbox.level,
  outcome,
  stdout,
  stderr,
  detached: { members, log: await log(), exit: await readFile(files.exitFile, 'utf8'), left: await fixture.left() },
};
await fixture.destroy();
process.stdout.write(`${JSON.stringify(result)}\n`, () => process.exit(0));
