import { expect } from 'chai';
import fc from 'fast-check';
import { mountPathProblem } from '../../../../shared/volumes/model.js';

describe('Paths of volumes', () => {
  it('are absolute, have no . and .., and hide neither the system nor the platform', () => {
    const bad = [
      ...['', 'data', './data', '/', '//data', '/data/', '/data//x', '/a/../b', '/a/./b', '/..', '/etc'],
      '/etc/x',
    ];
    const system = [
      ...['/usr/local', '/lib64', '/boot/x', '/run/x', '/var/run/x', '/dev/sda', '/proc/1', '/sys/fs', '/bin'],
      '/sbin',
    ];
    const own = ['/mnt', '/mnt/app', '/mnt/home', '/mnt/home/x', '/mnt/tools/x', '/mnt/node', '/mnt/node1/x', '/.init'];
    for (const path of [...bad, ...system, ...own]) expect(mountPathProblem(path, []), path).to.be.a('string');
  });

  it('may be anywhere else', () => {
    for (const path of [
      ...['/data', '/srv/x', '/opt/x', '/var/lib/x', '/home/x', '/mnt/app/storage', '/etcetera', '/library'],
    ]) {
      expect(mountPathProblem(path, []), path).to.equal(null);
    }
  });

  it('are not one inside another', () => {
    expect(mountPathProblem('/data/x', ['/data'])).to.be.a('string');
    expect(mountPathProblem('/data', ['/data/x'])).to.be.a('string');
    expect(mountPathProblem('/data', ['/data2', '/dat'])).to.equal(null);
  });

  it('that are taken never lead out of themselves', () => {
    const part = fc.constantFrom('a', '..', '.', '', 'data', 'etc');
    fc.assert(
      fc.property(fc.array(part, { maxLength: 6 }), (parts) => {
        const path = `/${parts.join('/')}`;
        if (mountPathProblem(path, []) === null) expect(new URL(path, 'file:///').pathname).to.equal(path);
      }),
    );
  });
});
