import { lstat, mkdir, mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { createServer } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect } from 'chai';
import { createLogger } from '../../../shared/core/log.js';
import { withFreshServer } from '../../../workers/backups/fresh-server.js';
import { checkRedis } from '../../../workers/backups/redis-check.js';
import { DATA } from '../../../workers/data/data-host.js';
import { createSandbox } from '../../../workers/sandbox/create-sandbox.js';
import type { Sandbox } from '../../../workers/sandbox/sandbox.js';
import { hasRedis } from '../../support/redis.js';

describe('A fresh server that its tenant has replaced', function () {
  this.timeout(90_000);
  let dataDir: string;
  let sandbox: Sandbox;
  let folder: string;
  let runs = 0;

  before(async () => {
    dataDir = await mkdtemp(join(tmpdir(), 'ranvier-fresh-'));
    sandbox = await createSandbox({ log: createLogger('test', 'error'), dataDir });
  });
  beforeEach(async () => {
    folder = join(dataDir, `check-${++runs}`);
    await mkdir(join(folder, DATA), { recursive: true, mode: 0o700 });
  });
  after(() => rm(dataDir, { recursive: true, force: true }));

  const serverOf = (signal: AbortSignal) => ({
    id: `backup-check-${process.pid}-fresh-${runs}`,
    sandbox,
    folder,
    userNumber: 9,
    limits: { memoryMb: 256, cpu: 1, pids: 50 },
    tools: [] as string[],
    limitMs: 120_000,
    signal,
  });
  const problem = (work: Promise<unknown>) =>
    work.then(
      () => 'no problem',
      (error: Error) => error.message,
    );

  it('lets root write to no file of the host through a link', async () => {
    const victim = join(dataDir, 'victim');
    await writeFile(victim, 'of the host');
    const command = ({ sockets }: { sockets: string }) =>
      `ln -s ${victim} stop; ln -s ${victim} ${sockets}/stop; touch ${sockets}/ready; exec sleep 60`;
    let looks = 0;
    const ready = async () => ++looks > 20;
    await problem(withFreshServer({ ...serverOf(AbortSignal.timeout(5_000)), command }, ready, async () => undefined));
    expect(await readFile(victim, 'utf8')).to.equal('of the host');
    expect((await lstat(join(folder, 'stop'))).isFile()).to.equal(true);
  });

  it('leads no connection to a socket of the host', async function () {
    if (!hasRedis) this.skip();
    const socket = join(dataDir, 'host.sock');
    let connections = 0;
    const host = createServer((peer) => {
      connections += 1;
      peer.destroy();
    });
    await new Promise<void>((resolve) => host.listen(socket, resolve));
    const tool = join(dataDir, 'tool');
    await mkdir(join(tool, 'bin'), { recursive: true });
    await writeFile(join(tool, 'bin', 'fake'), `#!/bin/sh\nln -s ${socket} sockets/redis.sock\nexec sleep 60\n`, {
      mode: 0o755,
    });
    const server = { ...serverOf(AbortSignal.timeout(3_000)), tools: [tool], binary: 'fake' };
    const manifest = { facts: { keys: 0 } } as unknown as Parameters<typeof checkRedis>[1];
    await problem(checkRedis(server, manifest));
    host.close();
    expect(connections).to.equal(0);
  });

  it('ends soon after its check is given up, though it ignores every signal that it can', async () => {
    const abort = new AbortController();
    const command = () => `trap '' TERM INT HUP; while :; do sleep 1; done`;
    const ended = problem(
      withFreshServer(
        { ...serverOf(abort.signal), command },
        async () => false,
        async () => undefined,
      ),
    );
    setTimeout(() => abort.abort(new Error('the platform ends')), 1_500);
    const began = Date.now();
    expect(await ended).to.equal('the platform ends');
    expect(Date.now() - began).to.be.lessThan(15_000);
  });
});
