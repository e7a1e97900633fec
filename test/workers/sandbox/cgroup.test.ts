import { randomUUID } from 'node:crypto';
import { access, rmdir } from 'node:fs/promises';
import { expect } from 'chai';
import { type CgroupRoots, detectCgroups, firstUsable } from '../../../workers/sandbox/cgroup.js';

const IMPOSSIBLE: CgroupRoots = {
  version: 1,
  memory: '/dev/null/nowhere',
  pids: '/dev/null/nowhere',
  cpu: '/dev/null/nowhere',
  sockets: null,
};

describe('control groups of sandboxes (skipped if the host does not allow any)', () => {
  const name = `ranvier-test-${randomUUID()}`;
  let roots: CgroupRoots | null = null;
  const reasons: string[] = [];
  const explain = (why: string) => void reasons.push(why);

  before(async function () {
    roots = await detectCgroups(name, () => undefined);
    if (roots === null) this.skip();
  });

  beforeEach(() => reasons.splice(0));

  after(async () => {
    if (roots === null) return;
    for (const folder of new Set([roots.memory, roots.pids, roots.cpu])) await rmdir(folder);
  });

  it('are found by every one of the workers of a host that start together', async () => {
    const found = await Promise.all(Array.from({ length: 12 }, () => detectCgroups(name, explain)));
    expect(found).to.deep.equal(Array.from({ length: 12 }, () => roots));
    expect(reasons).to.deep.equal([]);
  });

  it('are made in the next place if the first does not allow them, without a message', async () => {
    expect(await firstUsable([IMPOSSIBLE, ...(roots === null ? [] : [roots])], explain)).to.deep.equal(roots);
    expect(reasons).to.deep.equal([]);
  });

  it('are explained if no place allows them', async () => {
    expect(await firstUsable([IMPOSSIBLE], explain)).to.equal(null);
    expect(reasons).to.have.lengthOf(1);
    expect(reasons[0]).to.contain('/dev/null/nowhere');
  });

  it('leave no folder behind in a place that was tried in vain', async () => {
    if (roots === null) return;
    // The first folder can be made, the next one cannot.
    const half = `${roots.memory}-half`;
    expect(await firstUsable([{ ...IMPOSSIBLE, memory: half }], explain)).to.equal(null);
    expect(
      await access(half).then(
        () => true,
        () => false,
      ),
    ).to.equal(false);
  });
});
