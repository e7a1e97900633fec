import { expect } from 'chai';
import { pointTo } from '../../../../shared/previews/own-databases.js';

describe('A preview with databases of its own', () => {
  it('has them in the place of those of its service, with the same keys', () => {
    const references = { DB: { serviceId: 'a', key: 'URL' }, HOST: { serviceId: 'a', key: 'HOST' } };
    expect(pointTo({ ...references, CACHE: { serviceId: 'b', key: 'URL' } }, new Map([['a', 'own']]))).to.deep.equal({
      ...{ DB: { serviceId: 'own', key: 'URL' }, HOST: { serviceId: 'own', key: 'HOST' } },
      CACHE: { serviceId: 'b', key: 'URL' },
    });
  });
});
