import { execFileSync } from 'node:child_process';
import { chown, link, mkdir, readdir, rename, rm, stat, symlink, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { expect } from 'chai';
import { DataVolume } from '../../../../workers/data/data-volume.js';
import { useFolders } from '../../../support/folders.js';

const SERVICE = '01a20226-de96-73e7-b4c7-183e263599aa';

describe('The volume of a data service', () => {
  const newFolder = useFolders();
  let dataDir: string;
  let volume: DataVolume;

  beforeEach(async () => {
    dataDir = await newFolder();
    volume = new DataVolume({ dataDir, log: { warn: () => undefined } as never }, SERVICE);
  });

  /** Fills a folder as the server would: with files of the folder's owner. */
  const fill = (version: string) => async (folder: string) => {
    await writeFile(join(folder, 'PG_VERSION'), `${version}\n`);
    const { uid, gid } = await stat(folder);
    await chown(join(folder, 'PG_VERSION'), uid, gid);
  };

  it('takes no folder that is not named by an id', () => {
    expect(() => new DataVolume({ dataDir, log: { warn: () => undefined } as never }, '../other')).to.throw(
      /is not the id/,
    );
  });

  it('is observed: nothing at first, then its data, their version and whose it is', async () => {
    const nothing = { initialized: false, marker: null, hasData: false, dataVersion: null };
    expect(await volume.observe(false)).to.deep.equal(nothing);
    await volume.initialize(1, fill('18'));
    expect(await volume.observe(true)).to.deep.equal({
      initialized: true,
      marker: SERVICE,
      hasData: true,
      dataVersion: '18',
    });
    for (const marker of ['{}', 'no JSON']) {
      await writeFile(join(volume.folder, 'ranvier.json'), marker);
      expect((await volume.observe(true)).marker).to.equal('an unreadable marker');
    }
  });

  it('has no marker if its first data could not be made, and then begins anew', async () => {
    const outcome = await volume
      .initialize(1, async (folder) => {
        await fill('17')(folder);
        throw new Error('no room');
      })
      .catch((error: Error) => error.message);
    expect(outcome).to.equal('no room');
    expect(await volume.observe(false)).to.include({ marker: null, hasData: false });
    await mkdir(volume.data);
    await volume.initialize(1, fill('18'));
    expect(await readdir(volume.folder)).to.have.members(['data', 'ranvier.json']);
    expect((await volume.observe(true)).dataVersion).to.equal('18');
  });

  it('is removed with all its data, even if that was interrupted before', async () => {
    await volume.initialize(1, fill('18'));
    await mkdir(`${volume.folder}.removed`);
    await volume.remove();
    await volume.remove();
    expect(await readdir(join(dataDir, 'volumes'))).to.deep.equal([]);
  });

  describe('whose tenant has put something else in place of a file', () => {
    let version: string;
    let secret: string;
    beforeEach(async () => {
      await volume.initialize(1, fill('18'));
      version = join(volume.data, 'PG_VERSION');
      secret = join(dataDir, 'secret');
      await writeFile(secret, 'SECRETS_KEY=abc');
      await rm(version);
    });
    const observed = async () => (await volume.observe(true)).dataVersion;

    it('shows no file of the host through a link, a hard link or a link in place of the folder', async () => {
      await symlink(secret, version);
      expect(await observed()).to.equal(null);
      await rm(version);
      await link(secret, version);
      expect(await observed()).to.equal(null);
      await rename(volume.data, join(dataDir, 'other'));
      await rm(join(dataDir, 'other', 'PG_VERSION'));
      await fill('17')(join(dataDir, 'other'));
      await symlink(join(dataDir, 'other'), volume.data);
      expect(await volume.observe(true)).to.include({ hasData: false, dataVersion: null });
    });

    it('shows no content that is no version, and reads no more than a few bytes', async () => {
      for (const content of ['SECRETS_KEY=abc', '18'.repeat(1_000_000)]) {
        await writeFile(version, content);
        expect(await observed()).to.equal(null);
      }
    });

    it('is observed at once if it is a FIFO, which keeps no thread waiting', async function () {
      this.timeout(5_000);
      execFileSync('mkfifo', [version]);
      expect(await observed()).to.equal(null);
    });
  });
});
