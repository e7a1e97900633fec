import { expect } from 'chai';
import { cacheControl, hasHashedName } from '../../../../../../workers/edge/proxy/sites/cache-control.js';

describe('cache control', () => {
  it('knows names that carry a hash from names that do not', () => {
    for (const name of [
      'app-3f2a91bc.js',
      'main.d41d8cd98f00b204e980.chunk.css',
      'a/index-D5wrgT3a.js',
      'x.3f2a91bc.js.map',
    ]) {
      expect(hasHashedName(name), name).to.equal(true);
    }
    for (const name of [
      'index.html',
      'jquery-3.6.0.min.js',
      'report-20240101.pdf',
      'my-dashboard.js',
      'lib-base64js.js',
    ]) {
      expect(hasHashedName(name), name).to.equal(false);
    }
  });

  it('keeps files with a hash in their name for a year, others for an hour or not at all, as the profile says', () => {
    const [hashed, plain] = ['app-3f2a91bc.js', 'index.html'];
    expect([cacheControl('none', hashed), cacheControl('none', plain)]).to.deep.equal(['no-cache', 'no-cache']);
    expect(cacheControl('static', hashed)).to.equal('public, max-age=31536000, immutable');
    expect(cacheControl('static', plain)).to.equal('no-cache');
    expect(cacheControl('all', hashed)).to.equal('public, max-age=31536000, immutable');
    expect(cacheControl('all', plain)).to.equal('public, max-age=3600');
  });
});
