import { expect } from 'chai';
import { basicCredentials } from '../../../../shared/core/basic-credentials.js';

describe('The credentials of HTTP basic authentication', () => {
  const header = (text: string) => `Basic ${Buffer.from(text).toString('base64')}`;

  it('are a name and a password, which may have colons', () => {
    expect(basicCredentials(header('x:rnv_1:2'))).to.deep.equal({ name: 'x', password: 'rnv_1:2' });
    expect(basicCredentials(header(':p').replace('Basic ', 'bAsIc   '))).to.deep.equal({ name: '', password: 'p' });
  });

  it('are missing in other headers', () => {
    for (const other of [undefined, '', 'Bearer x', 'Basic', 'Basic %%%', header('x'), `${header('x:y')} z`])
      expect(basicCredentials(other), other).to.equal(null);
  });
});
