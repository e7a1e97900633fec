import { once } from 'node:events';
import { readdir } from 'node:fs/promises';
import { join } from 'node:path';
import { expect } from 'chai';
import { spawnEntry } from '../../../workers/sandbox/own-child.js';
import { LEVELS, SandboxFixture } from './support.js';

describe('A program beside a command in a container', () => {
  let fixture: SandboxFixture;
  before(async function () {
    if (LEVELS[0] === 'none') this.skip();
    fixture = await SandboxFixture.create(LEVELS[0]);
  });
  after(() => fixture?.destroy());

  it('leaves its variables in no file while it runs, and gets no descriptor of them', async () => {
    const spec = await fixture.spec('sleep 60');
    const [logFile, exitFile] = [join(fixture.dataDir, 'log'), join(fixture.dataDir, 'exit')];
    const running = await fixture.sandbox.start(spec, { logFile, exitFile });
    const args = ['/bin/sh', '-c', 'fds=$(ls -l /proc/$$/fd); echo "$PASSWORD $fds"; read -r _'];
    const entry = await fixture.sandbox.enter(spec.id, running, {
      name: 'one',
      args,
      env: { PASSWORD: 'hidden' },
      terminal: false,
    });
    const child = spawnEntry(entry);
    try {
      const [output] = await once(child.stdout, 'data');
      expect(String(output))
        .to.match(/^hidden /)
        .and.not.include('entry-');
      const files = await readdir(join(fixture.dataDir, 'sandboxes', spec.id));
      // The OCI runtime may write its process id after the first output.
      expect(files.filter((name) => name.startsWith('entry-') && name !== 'entry-one.pid')).to.deep.equal([]);
    } finally {
      await entry.end();
      await fixture.sandbox.stop(spec.id, running, 0);
    }
  });
});
