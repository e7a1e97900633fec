import { once } from 'node:events';
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { text } from 'node:stream/consumers';
import { expect } from 'chai';
import { v7 } from 'uuid';
import { createLogger } from '../../../shared/core/log.js';
import { createSandbox } from '../../../workers/sandbox/create-sandbox.js';
import { spawnEntry } from '../../../workers/sandbox/own-child.js';
import { isRoot } from '../../../workers/sandbox/service-users.js';
import { reachedBy } from './neighbour.js';
import { LEVELS, SandboxFixture, USER } from './support.js';

const log = createLogger('test', 'silent');

/** What a command reaches of DATA_DIR and of another service: the table of levels in docs/security.md. */
const REACHED: Record<string, string[]> = {
  root: [],
  rootless: [],
  // As root, each service has its own user; otherwise everything is reached.
  none: isRoot() ? [] : ['data', 'names', 'home', 'files', 'environment', 'signal'],
};

for (const level of LEVELS) {
  describe(`What a command reaches at level ${level}`, () => {
    it(`is ${REACHED[level]?.join(', ') || 'nothing of a neighbour and of DATA_DIR'}`, async () => {
      const fixture = await SandboxFixture.create(level);
      try {
        expect(await reachedBy(fixture)).to.deep.equal(REACHED[level]);
      } finally {
        await fixture.destroy();
      }
    });
  });
}

describe('A program that is started beside a command at level none', () => {
  it('does not run as root what the variables of the command name', async function () {
    if (!isRoot()) this.skip();
    const fixture = await SandboxFixture.create('none');
    try {
      const spec = await fixture.spec('exec sleep 60');
      await writeFile(join(spec.directory, 'setpriv'), '#!/bin/sh\necho "hostile $(/usr/bin/id -u)"\n', {
        mode: 0o755,
      });
      spec.env = { ...spec.env, PATH: `${spec.directory}:/usr/bin:/bin`, GREETING: 'hi' };
      const files = { logFile: join(fixture.dataDir, 'log'), exitFile: join(fixture.dataDir, 'exit') };
      const running = await fixture.sandbox.start(spec, files);
      const command = {
        name: v7(),
        args: ['/bin/sh', '-c', 'id -u; echo "$GREETING"; pwd; setpriv'],
        env: {},
        terminal: false,
      };
      const entry = await fixture.sandbox.enter(spec.id, running, command);
      const child = spawnEntry(entry);
      const [output] = await Promise.all([text(child.stdout), once(child, 'exit')]);
      await entry.end();
      await fixture.sandbox.stop(spec.id, running, 0);
      const user = String(300_000 + USER);
      expect(output.split('\n')).to.deep.equal([user, 'hi', spec.directory, `hostile ${user}`, '']);
    } finally {
      await fixture.destroy();
    }
  });
});

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
