import { chmod, mkdir, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { expect } from 'chai';
import { ownFolders } from '../../../../workers/core/own-programs.js';
import { useFolders } from '../../../support/folders.js';

describe("The platform's own programs", () => {
  const newFolder = useFolders();
  let root: string;
  before(async () => {
    root = await newFolder();
    for (const program of ['carried/bin/node', 'machine/bin/node', 'machine/bin/npm', 'only-npm/npm']) {
      await mkdir(join(root, program, '..'), { recursive: true });
      await writeFile(join(root, program), '');
      await chmod(join(root, program), 0o755);
    }
  });

  const folders = (node: string, path: string[], home = '/home/ada') =>
    ownFolders(join(root, node), path.map((name) => join(root, name)).join(':'), home).map((path) =>
      path.slice(root.length),
    );

  it('are the Node.js that runs the platform, then the npm of the machine if the first has none', () => {
    expect(folders('carried/bin/node', ['carried/bin', 'only-npm', 'machine/bin'])).to.deep.equal([
      '/carried/bin',
      '/machine/bin',
    ]);
    expect(folders('machine/bin/node', ['machine/bin'])).to.deep.equal(['/machine/bin']);
    expect(folders('carried/bin/node', ['carried/bin', 'nowhere'])).to.deep.equal(['/carried/bin']);
  });

  it('are none beside which a home folder is: commands see what is beside them', () => {
    expect(folders('carried/bin/node', ['machine/bin'], join(root, 'machine'))).to.deep.equal(['/carried/bin']);
    expect(folders('carried/bin/node', ['machine/bin'], join(root, 'machine/home'))).to.deep.equal(['/carried/bin']);
  });
});
