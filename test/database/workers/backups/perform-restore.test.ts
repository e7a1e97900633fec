import { randomUUID } from 'node:crypto';
import { mkdir, readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { expect } from 'chai';
import { insertBackup } from '../../../../shared/backups/store.js';
import { restoreOn } from '../../../../workers/backups/perform-restore.js';
import type { RestoreTarget } from '../../../../workers/backups/restore-target.js';
import { openLocalVolume } from '../../../../workers/data/local-volume-files.js';
import { CONTENT } from '../../../../workers/sandbox/volume-mounts.js';
import { VolumeFolder } from '../../../../workers/volumes/volume-folder.js';
import { makeOperation, makeService } from '../../../support/factories.js';
import { useFolders } from '../../../support/folders.js';
import { messageOf } from '../../../support/outcomes.js';
import { useTestDatabase } from '../../../support/postgres.js';

const NEVER = new AbortController().signal;

describe('A restore whose worker dies', () => {
  const database = useTestDatabase();
  const newFolder = useFolders();

  async function prepare(hadData: readonly boolean[]) {
    const { db } = database;
    const service = await makeService(db);
    const input = { service, trigger: 'manual', actor: '', scheduledFor: null } as const;
    const backup = await db.transaction((trx) => insertBackup(trx, input));
    await db('backups').where({ id: backup?.id }).update({ status: 'succeeded', finished_at: new Date() });
    const operation = await makeOperation(db, service, 'restore', backup?.id);
    const deps = { dataDir: await newFolder(), log: { warn: () => undefined } };
    const volumes = hadData.map(() => new VolumeFolder(deps, randomUUID(), service.id));
    for (const [n, { data }] of volumes.entries()) if (hadData[n]) await mkdir(data, { recursive: true });
    const parts = await Promise.all(
      volumes.map(async (volume) => ({ entry: CONTENT, files: await openLocalVolume(deps, volume) })),
    );
    const target: RestoreTarget = {
      parts,
      async unpack(_backup, fresh) {
        for (const { files } of parts) {
          await mkdir(join(files.stagingOf(fresh), CONTENT), { recursive: true });
          await writeFile(join(files.stagingOf(fresh), CONTENT, 'file'), 'restored');
        }
      },
      async discard(fresh) {
        for (const { files } of parts) await files.remove(fresh);
      },
      whileStopped: (work) => work(NEVER),
      isRunning: async () => true,
      finish: async () => undefined,
      close: async () => undefined,
    };
    const restore = (on: RestoreTarget, fence: number) =>
      restoreOn(database, on, { operation: { ...operation, fence }, service, signal: NEVER });
    const texts = () => Promise.all(volumes.map(({ data }) => readFile(join(data, 'file'), 'utf8')));
    return { service, volumes, target, restore, texts };
  }

  for (const [title, hadData] of [
    ['every volume had data', [true, true]],
    ['one of the volumes had no data', [true, false]],
    ['the only volume had no data', [false]],
  ] as const) {
    it(`while the service starts on the restored data is not done again: ${title}`, async () => {
      const { service, volumes, target, restore, texts } = await prepare(hadData);
      await new Promise<void>((resolve, reject) => {
        const whileStopped: RestoreTarget['whileStopped'] = async (work) => {
          await work(NEVER);
          resolve();
          await new Promise(() => undefined);
        };
        restore({ ...target, whileStopped }, 1).catch(reject);
      });
      for (const { data } of volumes) await writeFile(join(data, 'file'), 'written later');
      await restore(target, 2);
      expect(await texts()).to.deep.equal(hadData.map(() => 'written later'));
      for (const volume of volumes) expect(await volume.marker()).to.equal(service.id);
    });
  }

  it('before all volumes are replaced begins again', async () => {
    const { target, restore, texts } = await prepare([false, true]);
    const [first, second] = target.parts;
    if (first === undefined || second === undefined) throw new Error('there are two volumes');
    const rename = () => Promise.reject(new Error('the lease is lost'));
    const broken = { ...second, files: { ...second.files, rename } };
    expect(await messageOf(restore({ ...target, parts: [first, broken] }, 1))).to.equal('the lease is lost');
    await restore(target, 2);
    expect(await texts()).to.deep.equal(['restored', 'restored']);
  });
});
