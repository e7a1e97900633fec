import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect } from 'chai';
import { createLogger } from '../../../shared/core/log.js';
import { createSandbox } from '../../../workers/sandbox/create-sandbox.js';
import { isRoot } from '../../../workers/sandbox/service-users.js';
import { reachedBy } from './neighbour.js';
import { LEVELS, Playground } from './support.js';

const log = createLogger('test', 'silent');

/** What a command reaches of DATA_DIR and of another service: the table of levels in docs/security.md. `rootless.test.ts` runs this file as an ordinary user. */
const REACHED: Record<string, string[]> = {
  root: [],
  rootless: [],
  // As root each service has a user of its own; otherwise everything is reached.
  none: isRoot() ? [] : ['data', 'names', 'home', 'files', 'environment', 'signal'],
};

for (const level of LEVELS) {
  describe(`What a command reaches at level ${level}`, () => {
    it(`is ${REACHED[level]?.join(', ') || 'nothing of a neighbour and of DATA_DIR'}`, async () => {
      const ground = await Playground.create(level);
      try {
        expect(await reachedBy(ground)).to.deep.equal(REACHED[level]);
      } finally {
        await ground.destroy();
      }
    });
  });
}

describe('ISOLATION and OCI_RUNTIME', () => {
  it('refuse to start where what they ask for is not there, and say what to install', async () => {
    const dataDir = await mkdtemp(join(tmpdir(), 'ranvier-isolation-'));
    try {
      const refused = await createSandbox({ log, dataDir, ociRuntime: 'runsc' }).catch((error: Error) => error.message);
      expect(refused).to.match(/OCI_RUNTIME demands .*apt-get install runc conmon/);
      const required = await createSandbox({ log, dataDir, isolation: 'required', level: 'none' }).catch(
        (error: Error) => error.message,
      );
      expect(required).to.match(/ISOLATION/);
    } finally {
      await rm(dataDir, { recursive: true, force: true });
    }
  });
});
