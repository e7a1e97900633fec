import { mkdir, symlink, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { expect } from 'chai';
import { assertMountPaths } from '../../../../workers/sandbox/mount-paths.js';
import type { Mount } from '../../../../workers/sandbox/sandbox-plan.js';
import { useFolders } from '../../../support/folders.js';

describe('The mount path of a volume', () => {
  const newFolder = useFolders();
  let folder: string;
  before(async () => {
    folder = await newFolder();
    for (const name of ['root/var/real', 'upper/data', 'lower/data/inner', 'other']) {
      await mkdir(join(folder, name), { recursive: true });
    }
    await symlink('inner', join(folder, 'lower/data/link'));
    await symlink('real', join(folder, 'root/var/link'));
    await writeFile(join(folder, 'init'), '');
  });

  async function problem(...paths: string[]): Promise<string | null> {
    const layers = [`lowerdir=${join(folder, 'other')}:${join(folder, 'lower')}`, `upperdir=${join(folder, 'upper')}`];
    const mounts: Mount[] = [
      { destination: '/proc', type: 'proc', source: 'proc', options: [] },
      { destination: '/mnt/app', type: 'overlay', source: 'overlay', options: ['nodev', ...layers] },
      { destination: '/var/real', type: 'bind', source: join(folder, 'lower'), options: [] },
      { destination: '/.init', type: 'bind', source: join(folder, 'init'), options: [] },
    ];
    const volumes = paths.map((path) => ({ folder: '/v', path, exclusive: true, grows: false }));
    return assertMountPaths({ volumes }, mounts, [join(folder, 'root')]).then(
      () => null,
      (error: Error) => / at [^:]*: (.*?)\. /.exec(error.message)?.[1] ?? error.message,
    );
  }

  it('leads over folders, and names that nothing has yet', async () => {
    for (const path of ['/data', '/var/x', '/var/real/data/inner', '/mnt/app/data/inner/x/y', '/mnt/app/..x']) {
      expect(await problem(path), path).to.equal(null);
    }
  });

  it('leads over no link and no file of any layer that the container sees', async () => {
    expect(await problem('/mnt/app/data/link/x')).to.equal('/mnt/app/data/link is a link');
    expect(await problem('/var/link')).to.equal('/var/link is a link');
    expect(await problem('/var/real/data/link')).to.equal('/var/real/data/link is a link');
    expect(await problem('/.init/x')).to.equal('/.init is a file');
  });

  it('is not in another volume', async () => {
    expect(await problem('/data', '/data/..x')).to.equal('it is in the volume at /data');
    expect(await problem('/data', '/database')).to.equal(null);
  });
});
