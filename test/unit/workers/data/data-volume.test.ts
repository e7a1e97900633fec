import { mkdir, mkdtemp, readdir, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect } from 'chai';
import { DataVolume } from '../../../../workers/data/data-volume.js';

const SERVICE = '01a20226-de96-73e7-b4c7-183e263599aa';

describe('The volume of a data service', () => {
  let dataDir: string;
  let volume: DataVolume;

  beforeEach(async () => {
    dataDir = await mkdtemp(join(tmpdir(), 'ranvier-volume-'));
    volume = new DataVolume({ dataDir, log: { warn: () => undefined } as never }, SERVICE);
  });
  afterEach(() => rm(dataDir, { recursive: true, force: true }));

  const fill = (version: string) => (folder: string) => writeFile(join(folder, 'PG_VERSION'), `${version}\n`);

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
});
