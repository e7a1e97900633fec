import { expect } from 'chai';
import { isDataKind, isRouted, listensOnPort, SERVICE_KINDS, slugOf } from '../../../../shared/services/model.js';

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
