import { expect } from 'chai';
import { type ConfigPart, withParts } from '../../../../../workers/edge/caddy/config-part.js';

describe("the edge's parts of Caddy's configuration", () => {
  const list = ['tls', 'policies'];
  const part = (path: string[], value: unknown, more: Partial<ConfigPart> = {}): ConfigPart => ({
    path,
    value,
    ...more,
  });

  it('are written into an empty Caddy', () => {
    expect(withParts(null, [part(['a', 'b'], 1), part(list, { '@id': 'x' }, { id: 'x' })])).to.deep.equal({
      a: { b: 1 },
      tls: { policies: [{ '@id': 'x' }] },
    });
  });

  it('leave everything of the operator, and the configuration that was read, as they are', () => {
    const read = { admin: { listen: 'unix//a' }, a: { own: [1], b: 'old' } };
    const copy = structuredClone(read);
    expect(withParts(read, [part(['a', 'b'], 'new')])).to.deep.equal({
      admin: { listen: 'unix//a' },
      a: { own: [1], b: 'new' },
    });
    expect(read).to.deep.equal(copy);
  });

  it('replace their element of a list where it stands, and put a new one first or last', () => {
    const own = { '@id': 'own' };
    const first = part(list, { '@id': 'x', n: 2 }, { id: 'x' });
    const last = part(list, { '@id': 'y' }, { id: 'y', last: true });
    const policies = (value: unknown[]) => ({ tls: { policies: value } });
    expect(withParts(policies([own]), [first, last])).to.deep.equal(policies([first.value, own, last.value]));
    const again = policies([own, { '@id': 'x', n: 1 }, last.value]);
    expect(withParts(again, [first, last])).to.deep.equal(policies([own, first.value, last.value]));
  });

  it('take a part out that must not be there, and create no empty parents for it', () => {
    const nothing = [part(['a', 'b'], null)];
    expect(withParts({ a: { b: 1, c: 2 } }, nothing)).to.deep.equal({ a: { c: 2 } });
    expect(withParts({}, nothing)).to.deep.equal({});
  });

  it("refuse a place that the operator uses, and name it with the operator's value", () => {
    const ours = part(['tls', 'ask'], 'mine', { ours: (present) => present === 'mine' });
    expect(() => withParts({ tls: { ask: 'theirs' } }, [ours])).to.throw(/tls\.ask .*"theirs"/);
    expect(withParts({ tls: { ask: 'mine' } }, [ours])).to.deep.equal({ tls: { ask: 'mine' } });
    expect(() => withParts({ tls: 'off' }, [ours])).to.throw(/tls.*"off"/);
  });
});
