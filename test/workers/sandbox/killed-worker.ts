import { createLogger } from '../../../shared/core/log.js';
import { createSandbox } from '../../../workers/sandbox/create-sandbox.js';
import type { SandboxLevel } from '../../../workers/sandbox/sandbox.js';
import { SandboxFixture } from './support.js';

/** Runs a command with many processes. The test kills this worker meanwhile. */
const [dataDir = '', level] = process.argv.slice(2);
const options = { log: createLogger('test', 'silent'), dataDir, level: level as SandboxLevel };
const fixture = new SandboxFixture(dataDir, await createSandbox(options));
await fixture.run(
  '(sleep 300 &) ; setsid sleep 300 & echo started; sleep 300',
  {},
  {
    timeoutMs: 60_000,
    onLine: () => void process.send?.('started'),
  },
);
