import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { expect } from 'chai';
import { eventually } from '../../support/processes.js';
import { LEVELS, SandboxFixture } from './support.js';

/** At level none the sandbox cannot stop the process without variables, so it ends by itself. */
const COUNT = `i=0; (exec env -i /bin/sh -c 'i=0; while [ $i -lt 2000 ]; do i=$((i+1)); echo $i; sleep 0.01; done') &
while :; do i=$((i+1)); echo "own $i"; sleep 0.01; done`;

for (const level of LEVELS) {
  describe(`A paused sandbox (${level})`, function () {
    this.timeout(60_000);
    let fixture: SandboxFixture;
    before(async () => {
      fixture = await SandboxFixture.create(level);
    });
    after(() => fixture?.destroy());

    it('runs none of its processes until it is resumed, and can be paused again', async () => {
      const spec = await fixture.spec(COUNT);
      const logFile = join(fixture.dataDir, 'count.log');
      const running = await fixture.sandbox.start(spec, { logFile, exitFile: join(fixture.dataDir, 'count.exit') });
      const output = () => readFile(logFile, 'utf8');
      await eventually('it counts', async () => (await output()).includes('own 5\n'));
      for (let turn = 0; turn < 2; turn++) {
        const paused = await fixture.sandbox.pause(spec.id);
        const before = await output();
        await sleep(300);
        expect(await output()).to.equal(before);
        await paused.resume();
        await eventually('it counts again', async () => (await output()) > before);
      }
      await fixture.sandbox.stop(spec.id, running, 0);
    });
  });
}
