import { expect } from 'chai';
import { hasHashedName } from '../../../../../workers/edge/proxy/cache-control.js';

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
});
