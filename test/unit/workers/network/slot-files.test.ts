import { readdir, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { expect } from 'chai';
import { REST_MS } from '../../../../workers/network/network-model.js';
import { SlotFiles } from '../../../../workers/network/slot-files.js';
import { useFolders } from '../../../support/folders.js';

describe('The slots of a host', () => {
  const newFolder = useFolders();
  let folder: string;
  let slots: SlotFiles;

  beforeEach(async () => {
    folder = await newFolder();
    slots = new SlotFiles(folder);
    await slots.prepare();
  });

  const claim = (id: string, use: 'application' | 'build' = 'application') =>
    slots.claim({ id, name: `rv${id}`, scope: 'environment-e', use, hostName: id });

  it('go to one sandbox each, also if several workers claim at once', async () => {
    const others = new SlotFiles(folder);
    const claimed = await Promise.all(
      Array.from({ length: 60 }, (_, i) =>
        (i % 2 === 0 ? slots : others).claim({ id: `s${i}`, name: `rv${i}`, scope: 'e', use: 'build', hostName: '' }),
      ),
    );
    expect(new Set(claimed.map(({ number }) => number)).size).to.equal(60);
    expect(await slots.all()).to.have.length(60);
    expect(await slots.find('s7')).to.include({ id: 's7', name: 'rv7' });
  });

  it('of an application rest after their end; of a build they are free at once', async () => {
    const [application, build] = [await claim('a'), await claim('b', 'build')];
    await slots.release(application, 1_000);
    await slots.release(build, 1_000);
    expect(await slots.all()).to.deep.equal([]);
    expect(await slots.ids()).to.deep.equal([]);
    expect(await slots.at(build.number)).to.equal(null);
    await slots.expire(1_000 + REST_MS);
    expect(await slots.at(application.number)).to.include({ releasedAt: 1_000 });
    await slots.expire(1_001 + REST_MS);
    expect(await slots.at(application.number)).to.equal(null);
  });

  it('stay with a sandbox that was made again before its earlier slot was given back', async () => {
    const first = await claim('a', 'build');
    const second = await claim('a', 'build');
    await slots.release(first, 1_000);
    expect(await slots.find('a')).to.include({ number: second.number });
  });

  it('are found if the worker that took them was killed before it noted whose they are', async () => {
    const [noted, lost] = [await claim('a'), await claim('b')];
    await slots.forget(lost.id);
    expect(await slots.orphans(Date.now())).to.deep.equal([]);
    expect(await slots.orphans(Date.now() + 120_000)).to.deep.equal([lost]);
    await slots.release(lost, 1_000);
    expect(await slots.orphans(Date.now() + 120_000)).to.deep.equal([]);
    expect(await slots.find('a')).to.deep.equal(noted);
  });

  it('leave no file that a killed worker did not finish', async () => {
    await claim('a');
    await writeFile(join(folder, 'slots', '.rvb'), '{}');
    await slots.expire(Date.now());
    expect(await readdir(join(folder, 'slots'))).to.have.length(2);
    await slots.expire(Date.now() + 120_000);
    expect(await readdir(join(folder, 'slots'))).to.have.length(1);
  });
});
