import { expect } from 'chai';
import { isBranchName } from '../../../../shared/core/string-formats.js';

describe('The names of branches', () => {
  for (const name of ['main', 'feature/x', 'v1.2.3', 'a'.repeat(255), 'user@host', 'fix#12', 'a.locked', '0f1e2d']) {
    it(`accepts ${name.slice(0, 20)}`, () => expect(isBranchName(name)).to.equal(true));
  }
  for (const name of [
    ...['', '-x', '/x', 'x/', 'x//y', 'a..b', 'x.', '.x', 'a/.b', 'a.lock', 'a.lock/b', '@'],
    ...['a b', 'a~1', 'a^', 'a:b', 'a?', 'a*', 'a[', 'a\\b', 'a@{1}', 'ä', 'a\n', 'a'.repeat(256)],
  ]) {
    it(`refuses ${JSON.stringify(name.slice(0, 20))}`, () => expect(isBranchName(name)).to.equal(false));
  }
});
