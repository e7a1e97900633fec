import { expect } from 'chai';
import {
  aliasOf,
  isDataKind,
  isRouted,
  listensOnPort,
  SERVICE_KINDS,
  slugOf,
} from '../../../../shared/services/model.js';

describe('What follows from the kind and the name of a service', () => {
  it('five kinds are built from a source, and two are servers with a volume', () => {
    expect(SERVICE_KINDS.filter((kind) => !isDataKind(kind))).to.deep.equal([
      'web',
      'static',
      'private',
      'worker',
      'cron',
    ]);
    expect(SERVICE_KINDS.filter(isDataKind)).to.deep.equal(['postgres', 'redis']);
  });

  it('web services and sites have a public address; web and private services are checked on their port', () => {
    expect(SERVICE_KINDS.filter(isRouted)).to.deep.equal(['web', 'static']);
    expect(SERVICE_KINDS.filter(listensOnPort)).to.deep.equal(['web', 'private']);
  });

  it('a slug is a DNS label of at most 40 characters, with a suffix behind it', () => {
    expect(slugOf('  Größe & Co. ')).to.equal('gro-e-co');
    expect(slugOf('!!!')).to.equal('service');
    expect(slugOf(`${'x'.repeat(39)} y`)).to.equal('x'.repeat(39));
    expect(slugOf('shop', 'abc123')).to.equal('shop-abc123');
  });
});

describe('Names of services for their neighbours', () => {
  it('are made of names that a host can have', () => {
    expect(aliasOf({ name: 'DB', slug: 'db-x1' })).to.equal('db');
    expect(aliasOf({ name: 'my_db', slug: 'my-db' })).to.equal('my_db');
    for (const name of ['db-x1', 'Two words', 'a.example', 'localhost', 'x\n1.2.3.4 y', '-a', 'a'.repeat(64)]) {
      expect(aliasOf({ name, slug: 'db-x1' }), name).to.equal('');
    }
  });
});
