import { expect } from 'chai';
import { faultyVersion } from '../../../../workers/sandbox/runtime-version.js';

const faulty = (version: string) => faultyVersion(`runc version ${version}\ncommit: v1\nspec: 1.2.1\n`);

describe('The version of the OCI runtime', () => {
  it('is faulty if it is older than the first one of its line with the fixes', () => {
    const old = ['1.0.0-rc95', '1.1.5+ds1', '1.2.7', '1.2.5-0ubuntu1~24.04.1', '1.3.0-rc.2', '1.3.2', '1.4.0-rc.2'];
    for (const version of old) expect(faulty(version), version).to.equal(version);
  });

  it('is not faulty from that version on, or if it is not known', () => {
    for (const version of ['1.2.8', '1.3.3', '1.3.10', '1.4.0-rc.3', '1.4.0', '1.5.0', '2.0.0']) {
      expect(faulty(version), version).to.equal(null);
    }
    expect(faultyVersion('crun version 1.8.1')).to.equal(null);
  });
});
