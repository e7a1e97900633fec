import { readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { expect } from 'chai';
import { freeRange, idRanges, protectLinks } from '../../../../workers/sandbox/service-users.js';
import { useFolders } from '../../../support/folders.js';

describe('Users of hosted services', () => {
  const newFolder = useFolders();
  it('begin at 300000 if those are free', () => {
    expect(freeRange([])).to.equal(300_000);
    expect(freeRange(idRanges('root:100000:65536\ndockremap:165536:65536\n'))).to.equal(300_000);
  });

  it('begin at another number if the containers of another user have one of them', () => {
    // The range of the fourth user of an ordinary host: 296608 to 362143.
    const given = idRanges('a:100000:65536\nb:165536:65536\nc:231072:65536\nd:296608:65536\n');
    const first = freeRange(given);
    expect(given.every((range) => first > range.last)).to.equal(true);
    expect(freeRange([...given, { first: first + 199_999, last: first + 199_999 }])).to.be.greaterThan(first + 199_999);
  });

  it('take no files of the host by hard links: the kernel refuses those, or the worker does not start', async () => {
    const folder = await newFolder();
    const setting = join(folder, 'protected_hardlinks');
    await writeFile(setting, '0\n');
    await protectLinks(setting);
    expect(await readFile(setting, 'utf8')).to.equal('1');
    const problem = await protectLinks(folder).catch(({ message }: Error) => message);
    expect(problem).to.contain('sysctl fs.protected_hardlinks=1');
  });

  it('are refused if every range is taken, and lines that are none are left out', () => {
    expect(() => freeRange([{ first: 1, last: 4_000_000_000 }])).to.throw('No 200000 user numbers');
    expect(idRanges('# comment\n\nx:y:z\nuser:5:0\nuser:7:2')).to.deep.equal([{ first: 7, last: 8 }]);
  });
});
