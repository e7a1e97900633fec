import { spawnSync } from 'node:child_process';
import { randomBytes } from 'node:crypto';
import { mkdtemp, readdir, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { Readable } from 'node:stream';
import { buffer } from 'node:stream/consumers';
import { expect } from 'chai';
import { Sensitive } from '../../../shared/core/sensitive.js';
import { isDiskFull } from '../../../workers/backups/backup-archive.js';
import type { BackupStore } from '../../../workers/backups/backup-store.js';
import { FolderStore } from '../../../workers/backups/folder-store.js';
import { S3Store } from '../../../workers/backups/s3-store.js';
import { assertRoom } from '../../../workers/backups/work-folders.js';
import { eventually } from '../../support/processes.js';
import { ACCESS_KEY, S3Server } from '../../support/s3-server.js';

const NEVER = new AbortController().signal;
const SERVICE = '01a20226-de96-73e7-b4c7-183e263599aa';

const S3 = {
  store: 's3' as const,
  bucket: 'backups',
  endpoint: null,
  region: 'us-east-1',
  accessKeyId: ACCESS_KEY,
  secretAccessKey: new Sensitive('secret-of-the-stub'),
  prefix: 'ranvier',
};

interface Place {
  store: BackupStore;
  /** Lists all objects by the store's own names. */
  raw: () => Promise<string[]>;
  end: () => Promise<void>;
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

async function s3Place(): Promise<Place & { endpoint: string; server: S3Server; store: S3Store }> {
  const server = new S3Server();
  const endpoint = await server.listen();
  return {
    store: new S3Store({ ...S3, endpoint }),
    endpoint,
    server,
    raw: async () => [...server.objects.keys(), ...server.uploads.keys()],
    end: () => server.close(),
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

describe('S3-compatible storage', () => {
  let place: Awaited<ReturnType<typeof s3Place>>;
  before(async () => {
    place = await s3Place();
  });
  after(() => place.end());

  it('gets large archives in parts, and unfinished ones are listed and removed', async () => {
    const { store, server } = place;
    const content = randomBytes(70 * 1024 * 1024);
    const abort = new AbortController();
    const halves = async function* () {
      yield content;
      abort.abort(new Error('enough'));
      yield content;
    };
    await store.write(`${SERVICE}/a-1`, Readable.from([content], { objectMode: false }), NEVER);
    expect((await buffer(await store.read(`${SERVICE}/a-1`, NEVER))).equals(content)).to.equal(true);
    await store.write(`${SERVICE}/b-1`, Readable.from(halves(), { objectMode: false }), abort.signal).catch(() => null);
    await eventually('the upload is given up', () => server.uploads.size === 0);
    const key = `ranvier/${SERVICE}/c-1/archive`;
    server.uploads.set('begun', { key, startedAt: new Date().toISOString(), parts: new Map() });
    expect((await store.list(`${SERVICE}/c-`)).map(({ name }) => name)).to.deep.equal([`${SERVICE}/c-1`]);
    await store.remove(`${SERVICE}/c-1`);
    expect([...server.uploads.keys()]).to.deep.equal([]);
  });

  it('lists and removes unfinished uploads on every page of their list', async () => {
    const { store, server } = place;
    const names = ['d-1', 'd-1', 'd-2', 'd-2', 'd-3'].map((name) => `${SERVICE}/${name}`);
    for (const [n, name] of names.entries()) {
      const upload = { key: `ranvier/${name}/archive`, startedAt: new Date().toISOString(), parts: new Map() };
      server.uploads.set(`begun-${n}`, upload);
    }
    expect((await store.list(`${SERVICE}/d-`)).map(({ name }) => name)).to.deep.equal(names);
    for (const name of new Set(names)) await store.remove(name);
    expect([...server.uploads.keys()]).to.deep.equal([]);
  });

  it('that refuses says which setting to check, and never shows the secret', async () => {
    for (const [wrong, code, setting] of [
      [{ bucket: 'nowhere' }, 'NoSuchBucket', 'BACKUP_S3_BUCKET'],
      [{ accessKeyId: 'other' }, 'InvalidAccessKeyId', 'BACKUP_S3'],
    ] as const) {
      const store = new S3Store({ ...S3, endpoint: place.endpoint, ...wrong });
      const error = await store.write('s/a-1', Readable.from([Buffer.from('x')]), NEVER).then(
        () => null,
        (reason: Error) => reason,
      );
      expect(error?.message).to.contain(code).and.to.contain(setting).and.not.to.contain(S3.secretAccessKey.reveal());
    }
  });
});
