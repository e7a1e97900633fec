import { expect } from 'chai';
import { restoreLeftovers } from '../../../../workers/data/data-host.js';

const [OPEN, DONE, FAILED, UNKNOWN] = ['1', '2', '3', '4'].map((n) => `01a20226-de96-73e7-b4c7-18${n}e263599aa`);
const STATUSES = new Map([
  [OPEN, 'running'],
  [DONE, 'succeeded'],
  [FAILED, 'failed'],
]);

describe('What a restore leaves on a volume', () => {
  it('is removed after its end, but for the data before one that failed', async () => {
    const names = [OPEN, DONE, FAILED, UNKNOWN].flatMap((id) => [`before-${id}`, `restored-${id}`]);
    const found = await restoreLeftovers(
      ['data', 'ranvier.json', 'before-me', ...names],
      async (id) => STATUSES.get(id) ?? null,
    );
    expect(found).to.deep.equal([`before-${DONE}`, `restored-${DONE}`, `restored-${FAILED}`]);
  });
});
