import { expect } from 'chai';
import { reachedBy } from './neighbour.js';
import { LEVELS, Playground } from './support.js';

/** What a command reaches of DATA_DIR and of another service: the table of levels in docs/security.md. `rootless.test.ts` tries that level. */
const REACHED: Record<string, string[]> = {
  namespaces: [],
  user: [],
  none: ['data', 'names', 'home', 'files', 'environment', 'signal'],
};

for (const level of LEVELS) {
  describe(`What a command reaches at level ${level}`, () => {
    it(`is ${REACHED[level]?.join(', ') || 'nothing of a neighbour and of DATA_DIR'}`, async () => {
      const ground = await Playground.create(level);
      try {
        expect(await reachedBy(ground)).to.deep.equal(REACHED[level]);
      } finally {
        await ground.destroy();
      }
    });
  });
}
