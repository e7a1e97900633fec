import { execFile } from 'node:child_process';
import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { expect } from 'chai';
import { nodeProblem } from '../../../../shared/core/node-version.js';
import { machineNode } from '../../../support/machine-node.js';
import { DIST } from '../../../support/platform.js';

const MAINS = ['api', 'workers', 'workers/edge', 'migrations', 'api/admin'].map((folder) => `${folder}/main`);

describe('The version of Node.js', () => {
  it('is told what it has to be, and where a newer one is', () => {
    expect(nodeProblem('20.20.2')).to.match(/runs on Node.js 24 or newer, and this is 20\.20\.2.*node_modules\/\.bin/);
    for (const version of ['24.0.0', '26.1.0']) expect(nodeProblem(version)).to.equal(null);
  });

  it('is looked at before anything is imported that needs it, in each process', async () => {
    const { file, version } = await machineNode();
    for (const main of [...MAINS, 'shared/launcher/launch']) {
      const path = join(DIST, `${main}.js`);
      const [first] = /^import .*/m.exec(await readFile(path, 'utf8')) ?? [];
      expect(first, main).to.match(
        /^import '.*\/shared\/core\/node-version\.js';$|^import '\.\.\/core\/node-version\.js';$/,
      );
      if (nodeProblem(version) === null) continue;
      const output = await new Promise((resolve) => execFile(file, [path], (_, __, stderr) => resolve(stderr)));
      expect(output, main).to.equal(`${nodeProblem(version)}\n`);
    }
  });
});
