import { expect } from 'chai';
import fc from 'fast-check';
import { FairPlaces } from '../../../../api/http/fair-places.js';
import { AppError } from '../../../../shared/core/error-registry.js';

describe('Fair places', () => {
  it('go to a newcomer from the group that has most, never to one with as many, and each group is bounded', () => {
    const places = new FairPlaces({ each: 4, all: 5 });
    const lost: string[] = [];
    const take = (group: string, name = group) => places.take(group, () => lost.push(name));
    for (const i of [1, 2, 3, 4]) take('many', `many ${i}`);
    expect(() => take('many')).to.throw(AppError, 'Too many');
    take('few 1');
    take('few 2');
    take('few 3');
    expect(lost).to.deep.equal(['many 4', 'many 3']);
    const back = take('few 4');
    expect(lost).to.deep.equal(['many 4', 'many 3', 'many 2']);
    expect(() => take('few 5')).to.throw(AppError, 'Too many');
    back();
    back();
    take('few 5');
    expect(() => take('few 5')).to.throw(AppError, 'Too many');
    expect(lost).to.have.length(3);
  });

  it('are never more than there are, and a group within its share loses none', () => {
    const request = fc.record({ group: fc.integer({ min: 0, max: 4 }), gives: fc.boolean() });
    fc.assert(
      fc.property(fc.array(request, { maxLength: 80 }), (requests) => {
        const places = new FairPlaces({ each: 6, all: 10 });
        const held = new Map<number, Set<() => void>>();
        for (const { group, gives } of requests) {
          const own = held.get(group) ?? new Set();
          held.set(group, own);
          const [first] = own;
          if (gives && first) {
            first();
            own.delete(first);
            continue;
          }
          const size = own.size;
          try {
            const back = places.take(String(group), () => {
              own.delete(back);
              expect(own.size).to.be.at.least(2);
            });
            own.add(back);
          } catch {
            expect(size, 'a group with a fifth of the places or less is refused none').to.be.at.least(2);
          }
          expect([...held.values()].reduce((sum, { size }) => sum + size, 0)).to.be.at.most(10);
        }
      }),
    );
  });
});
