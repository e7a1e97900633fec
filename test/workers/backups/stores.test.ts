import { spawnSync } from 'node:child_process';
import { randomBytes } from 'node:crypto';
import { mkdtemp, readdir, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { Readable } from 'node:stream';
import { buffer } from 'node:stream/consumers';
import { expect } from 'chai';
import S3rver from 's3rver';
import { Sensitive } from '../../../shared/core/sensitive.js';
import { isDiskFull } from '../../../workers/backups/archive.js';
import type { BackupStore } from '../../../workers/backups/backup-store.js';
import { FolderStore } from '../../../workers/backups/folder-store.js';
import { S3Store } from '../../../workers/backups/s3-store.js';
import { assertRoom } from '../../../workers/backups/work-folders.js';

const NEVER = new AbortController().signal;
const SERVICE = '01a20226-de96-73e7-b4c7-183e263599aa';

interface Place {
  store: BackupStore;
  /** Everything that the store holds, as it names it itself. */
  raw: () => Promise<string[]>;
  end: () => Promise<void>;
  endpoint?: string;
}

async function folderPlace(): Promise<Place> {
  const dataDir = await mkdtemp(join(tmpdir(), 'ranvier-store-'));
  return {
    store: new FolderStore(dataDir, 'here'),
    raw: async () => {
      const entries = await readdir(join(dataDir, 'backups'), { recursive: true, withFileTypes: true }).catch(() => []);
      return entries.filter((entry) => entry.isFile()).map(({ name }) => name);
    },
    end: () => rm(dataDir, { recursive: true, force: true }),
  };
}

/** A real server of the protocol, on a folder. */
async function s3Place(): Promise<Place> {
  const directory = await mkdtemp(join(tmpdir(), 'ranvier-s3-'));
  const server = new S3rver({
    port: 0,
    address: '127.0.0.1',
    silent: true,
    directory,
    configureBuckets: [{ name: 'backups', configs: [] }],
  });
  const { port } = await server.run();
  const settings = {
    store: 's3' as const,
    bucket: 'backups',
    endpoint: `http://127.0.0.1:${port}`,
    region: 'us-east-1',
    accessKeyId: 'S3RVER',
    secretAccessKey: new Sensitive('S3RVER'),
    prefix: 'ranvier',
  };
  const store = new S3Store(settings);
  return {
    store,
    endpoint: settings.endpoint,
    raw: async () => (await new S3Store({ ...settings, prefix: '' }).list('')).map(({ name }) => name),
    end: async () => {
      await server.close();
      await rm(directory, { recursive: true, force: true });
    },
  };
}

for (const [title, open] of [
  ['a folder', folderPlace],
  ['S3-compatible storage', s3Place],
] as const) {
  describe(`Backups in ${title}`, () => {
    let place: Place;
    before(async () => {
      place = await open();
    });
    after(() => place.end());
    afterEach(async () => {
      for (const { name } of await place.store.list('')) await place.store.remove(name);
    });
    const content = randomBytes(3_000_000);
    const stream = (bytes = content) => Readable.from(pieces(bytes), { objectMode: false });
    function* pieces(bytes: Buffer) {
      for (let at = 0; at < bytes.length; at += 65_536) yield bytes.subarray(at, at + 65_536);
    }
    const problem = (work: Promise<unknown>) =>
      work.then(
        () => 'no problem',
        (error: Error) => `${error.name}: ${error.message}`,
      );

    it('are read back as they were written, before and after they are published', async () => {
      const { store } = place;
      expect(await store.write(`${SERVICE}/a-1`, stream(), NEVER)).to.equal(content.length);
      expect((await buffer(await store.read(`${SERVICE}/a-1`, NEVER))).equals(content)).to.equal(true);
      await store.publish(`${SERVICE}/a-1`);
      expect((await buffer(await store.read(`${SERVICE}/a-1`, NEVER))).equals(content)).to.equal(true);
    });

    it('are listed by the beginning of their names, published or not', async () => {
      const { store } = place;
      for (const name of ['a-1', 'a-2', 'b-1'])
        await store.write(`${SERVICE}/${name}`, stream(Buffer.from('x')), NEVER);
      await store.publish(`${SERVICE}/a-2`);
      const names = async (prefix: string) => (await store.list(prefix)).map(({ name }) => name).sort();
      expect(await names(`${SERVICE}/a-`)).to.deep.equal([`${SERVICE}/a-1`, `${SERVICE}/a-2`]);
      expect(await names('')).to.have.lengthOf(3);
      expect(await names('other')).to.deep.equal([]);
      const [found] = await store.list(`${SERVICE}/b-`);
      expect(found?.changedAt.getTime()).to.be.within(Date.now() - 120_000, Date.now() + 120_000);
    });

    it('leave nothing when they are removed, and removing what is not there is no error', async () => {
      const { store } = place;
      await store.write(`${SERVICE}/a-1`, stream(), NEVER);
      await store.publish(`${SERVICE}/a-1`);
      await store.remove(`${SERVICE}/a-1`);
      await store.remove(`${SERVICE}/a-1`);
      expect(await place.raw()).to.deep.equal([]);
      expect(await problem(store.read(`${SERVICE}/a-1`, NEVER))).to.contain('BackupError: the archive is not in');
    });

    it('leave nothing if what writes them fails or is aborted', async () => {
      const { store } = place;
      const broken = Readable.from(
        (async function* () {
          yield* pieces(content);
          throw new Error('the server has gone');
        })(),
        { objectMode: false },
      );
      expect(await problem(store.write(`${SERVICE}/a-1`, broken, NEVER))).to.contain('the server has gone');
      const abort = new AbortController();
      const endless = Readable.from(
        (async function* () {
          for (let i = 0; ; i++) {
            if (i === 50) abort.abort(new Error('enough'));
            yield content.subarray(0, 65_536);
            await new Promise((resolve) => setImmediate(resolve));
          }
        })(),
        { objectMode: false },
      );
      expect(await problem(store.write(`${SERVICE}/a-1`, endless, abort.signal))).to.contain('enough');
      expect(await place.raw()).to.deep.equal([]);
    });
  });
}

describe('Backups on a disk that is full (skipped without root)', () => {
  let dataDir: string;
  before(async function () {
    dataDir = await mkdtemp(join(tmpdir(), 'ranvier-full-'));
    const mounted = spawnSync('mount', ['-t', 'tmpfs', '-o', 'size=1m', 'tmpfs', dataDir]);
    if (mounted.status !== 0) this.skip();
  });
  after(async () => {
    spawnSync('umount', [dataDir]);
    await rm(dataDir, { recursive: true, force: true });
  });

  it('fail with the reason and leave nothing behind', async () => {
    const store = new FolderStore(dataDir, 'here');
    const error = await store.write(`${SERVICE}/a-1`, Readable.from([randomBytes(3_000_000)]), NEVER).then(
      () => null,
      (reason: unknown) => reason,
    );
    expect(isDiskFull(error)).to.equal(true);
    expect(await readdir(join(dataDir, 'backups', SERVICE))).to.deep.equal([]);
  });

  it('do not begin if it has no room for them', async () => {
    const problem = await assertRoom(dataDir, 3_000_000, 'the backup and its check').then(
      () => 'no problem',
      (error: Error) => error.message,
    );
    expect(problem).to.match(/^the disk of DATA_DIR is too full: the backup and its check needs up to 2\.9 MB, and/);
  });
});

describe('S3-compatible storage that refuses', () => {
  it('says which setting to check, and never shows the secret', async () => {
    const place = await s3Place();
    try {
      const store = new S3Store({
        store: 's3',
        bucket: 'nowhere',
        endpoint: place.endpoint ?? null,
        region: 'us-east-1',
        accessKeyId: 'S3RVER',
        secretAccessKey: new Sensitive('S3RVER'),
        prefix: '',
      });
      const error = await store.write('s/a-1', Readable.from([Buffer.from('x')]), NEVER).then(
        () => null,
        (reason: Error) => reason,
      );
      expect(error?.message).to.contain('NoSuchBucket');
      expect(error?.message).to.contain('BACKUP_S3_BUCKET');
    } finally {
      await place.end();
    }
  });
});
