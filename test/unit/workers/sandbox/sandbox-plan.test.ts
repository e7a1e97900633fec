import { expect } from 'chai';
import { quote } from '../../../../workers/core/quote.js';
import {
  hiddenFolders,
  joinBelow,
  resourceLimits,
  searchPath,
  withoutPrivileges,
} from '../../../../workers/sandbox/sandbox-plan.js';

const PLAN = { limits: { memoryMb: 512, cpu: 0.5, pids: 64, fileSizeMb: 1 } };
const limitsOf = (...args: [hasCgroup: boolean, of: 'container' | 'service' | 'all']) =>
  Object.fromEntries(resourceLimits(PLAN, ...args).map(({ name, value }) => [name, value]));

describe('Sandbox plan', () => {
  it('limits memory and processes by rlimits if there are no control groups', () => {
    expect(limitsOf(true, 'service')).to.deep.equal({ CORE: 0, NOFILE: 16_384, FSIZE: 2 ** 20 });
    expect(limitsOf(false, 'service')).to.include({ DATA: 1024 ** 3, NPROC: 512 });
    expect(limitsOf(false, 'container')).to.include({ NPROC: 64 });
    // The user runs the platform too, so its processes count.
    expect(limitsOf(false, 'all')).to.deep.equal({ CORE: 0, FSIZE: 2 ** 20, DATA: 1024 ** 3, NPROC: 4160 });
  });

  it('drops every privilege, as root and in a user namespace', () => {
    expect(withoutPrivileges({ level: 'root' }, 300_007)).to.include.members([
      ...['--reuid=300007', '--regid=300007', '--clear-groups', '--no-new-privs', '--bounding-set=-all'],
    ]);
    expect(withoutPrivileges({ level: 'rootless' }, 1000)).to.include.members([
      ...['--map-user=1000', '--map-group=1000', '--no-new-privs', '--bounding-set=-all', '--ambient-caps=-all'],
    ]);
  });

  it('finds tools and the platform own programs first, at the paths at which the command sees them', () => {
    const host = { overlay: false, hidden: [], cgroups: null, oci: null, level: 'none' } as const;
    const ownFolders = ['/opt/node/bin', '/root/.nvm/v20/bin'];
    expect(searchPath({ ...host, ownFolders }, ['/data/tools/x'])).to.match(
      /^\/data\/tools\/x\/bin:\/opt\/node\/bin:\/root\/.nvm\/v20\/bin:\/usr\/local\/sbin:/,
    );
  });

  it('hides each folder once, and never the root', () => {
    expect(hiddenFolders(['/root', '/run'], ['/run/ranvier', '/srv/ranvier', '/'])).to.deep.equal([
      '/run',
      '/root',
      '/srv/ranvier',
    ]);
  });

  it('keeps a path in its folder, and a word one word', () => {
    expect(() => joinBelow('/mnt/app', '../etc')).to.throw('leads out');
    expect(joinBelow('/mnt/app', 'a/b')).to.equal('/mnt/app/a/b');
    expect(quote("it's $(x)")).to.equal("'it'\\''s $(x)'");
  });
});
