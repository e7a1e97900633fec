import { cp, mkdir, mkdtemp, readdir, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { Readable } from 'node:stream';
import { buffer } from 'node:stream/consumers';
import { expect } from 'chai';
import { Redis } from 'ioredis';
import { createLogger } from '../../../shared/core/log.js';
import { newArchiveKey } from '../../../workers/backups/archive-cipher.js';
import { ArchiveWriter, type Manifest } from '../../../workers/backups/backup-archive.js';
import { unpackArchive } from '../../../workers/backups/read-archive.js';
import { checkRedis } from '../../../workers/backups/redis-check.js';
import { copyRedis } from '../../../workers/backups/redis-source.js';
import { DATA } from '../../../workers/data/data-host.js';
import { createSandbox } from '../../../workers/sandbox/create-sandbox.js';
import type { Sandbox } from '../../../workers/sandbox/sandbox.js';
import { hasRedis, startRedis, type TestRedis } from '../../support/redis.js';

const KEY = newArchiveKey();
const NEVER = new AbortController().signal;
const BASE = 'appendonlydir/appendonly.aof.1.base.rdb';

describe('The copy of a Redis', () => {
  let server: TestRedis;
  let client: Redis;
  let dataDir: string;
  let sandbox: Sandbox;
  let copies = 0;

  before(async function () {
    if (!hasRedis) this.skip();
    server = await startRedis();
    client = new Redis(server.port, '127.0.0.1');
    await client.config('SET', 'requirepass', 'a password');
    client.disconnect();
    client = new Redis(server.port, '127.0.0.1', { password: 'a password' });
    dataDir = await mkdtemp(join(tmpdir(), 'ranvier-checks-'));
    sandbox = await createSandbox({ log: createLogger('test', 'error'), dataDir });
  });
  after(async () => {
    client?.disconnect();
    await server?.stop();
    if (dataDir) await rm(dataDir, { recursive: true, force: true });
  });

  /** Makes a copy from the files of this host; without `dataFolder`, the server sends its data as to a replica. */
  async function copy(dataFolder: string | null = server.dir): Promise<{ folder: string; manifest: Manifest }> {
    const archive = new ArchiveWriter();
    const content = buffer(archive.stream(KEY, Buffer.from('sealed')));
    const admin = { host: '127.0.0.1', port: server.port, user: 'default', password: 'a password' };
    const facts = await copyRedis({ dataFolder, admin }, archive, NEVER);
    const about = {
      kind: 'redis',
      version: '',
      serviceId: 's',
      backupId: 'b',
      createdAt: new Date().toISOString(),
    } as const;
    await archive.finish({ ...about, facts: { ...facts } });
    const folder = join(dataDir, `copy-${++copies}`);
    await mkdir(join(folder, DATA), { recursive: true, mode: 0o700 });
    return { folder, manifest: await unpackArchive(Readable.from([await content]), KEY, join(folder, DATA), NEVER) };
  }

  const check = ({ folder, manifest }: { folder: string; manifest: Manifest }) =>
    checkRedis(
      {
        id: `backup-check-${process.pid}-${copies}`,
        sandbox,
        folder,
        userNumber: 8,
        limits: { memoryMb: 512, cpu: 2, pids: 50 },
        tools: [],
        limitMs: 120_000,
        signal: NEVER,
        binary: '/usr/bin/redis-server',
      },
      manifest,
    );
  const problem = (work: Promise<unknown>) =>
    work.then(
      () => 'no problem',
      (error: Error) => error.message,
    );

  it('of an empty server is whole', async () => {
    expect(await check(await copy())).to.deep.equal({ keys: 0, expired: 0 });
  });

  const hasTheKeysOfOneMoment = async (take: () => ReturnType<typeof copy>) => {
    await client.mset(Object.fromEntries(Array.from({ length: 2000 }, (_, i) => [`key:${i}`, 'v'.repeat(300)])));
    await client.set('short', 'lived', 'PX', 1);
    let on = true;
    const writing = (async () => {
      for (let i = 0; on; i++) await client.set(`more:${i}`, 'x');
    })();
    const made = await take();
    on = false;
    await writing;
    const { keys, expired } = await check(made);
    expect(keys).to.be.at.least(2000);
    expect(keys + expired).to.equal((made.manifest.facts as { keys: number }).keys);
    expect(await client.lastsave()).to.be.greaterThan(0);
  };

  it('has the keys of one moment, also while clients write, and those that expire', () => hasTheKeysOfOneMoment(copy));

  it('that the server sends has the keys of one moment as well', async () => {
    await client.config('SET', 'repl-diskless-sync', 'no');
    await hasTheKeysOfOneMoment(() => copy(null));
  });

  it('leaves no snapshot on the volume', async () => {
    await copy();
    expect(await readdir(server.dir)).to.not.include('dump.rdb');
  });

  it('is refused if a byte of it is damaged, or if keys are missing', async () => {
    const made = await copy();
    const damaged = join(dataDir, 'damaged');
    await cp(made.folder, damaged, { recursive: true });
    const path = join(damaged, DATA, BASE);
    const bytes = await readFile(path);
    const middle = bytes.length >> 1;
    bytes[middle] = (bytes[middle] ?? 0) ^ 1;
    await writeFile(path, bytes);
    expect(await problem(check({ ...made, folder: damaged }))).to.match(/does not open|keys|did not end well/);
    const facts = { keys: (made.manifest.facts as { keys: number }).keys + 1 };
    const missing = await problem(check({ ...made, manifest: { ...made.manifest, facts } }));
    expect(missing).to.contain(`the server had ${facts.keys}`);
  });
});
