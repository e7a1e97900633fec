import { expect } from 'chai';
import { HOST_GROUND } from '../../../../workers/network/ground.js';
import {
  commandArguments,
  detachedArguments,
  type Host,
  hiddenFolders,
  joinBelow,
  mountOperations,
  type Plan,
  sandboxArguments,
  searchPath,
} from '../../../../workers/sandbox/sandbox-plan.js';
import { commandScript, INIT, LOADER, RECORDER } from '../../../../workers/sandbox/sandbox-scripts.js';

const HOST: Host = {
  level: 'namespaces',
  overlay: true,
  tools: { setsid: true, prlimit: true },
  filter: ['perl', 'filter'],
  mounter: [],
  ownFolders: ['/usr/bin'],
  hidden: ['/run', '/root', '/var/lib/ranvier'],
  oci: null,
};
const PLAN: Plan = {
  marker: 'token:id',
  uid: 300_007,
  directory: '/var/lib/ranvier/work',
  image: null,
  mapped: null,
  scratch: '/var/lib/ranvier/sandboxes/id',
  writable: [],
  tools: [],
  limits: { memoryMb: 512, cpu: 0.5, pids: 64 },
  procsFiles: ['/cg/memory/id/cgroup.procs'],
  tied: true,
};
const DROP = [
  'setpriv',
  '--reuid=300007',
  '--regid=300007',
  '--clear-groups',
  '--no-new-privs',
  '--bounding-set=-all',
  '--inh-caps=-all',
  '--',
];
const FILTER = ['perl', 'filter'];
const SHELL = ['/bin/sh', '-c', LOADER, 'sandbox'];
const MOUNTS = [
  ...['stage', '/mnt', 'resolver', '/mnt', 'bind', '/var/lib/ranvier/work', '/mnt/app'],
  ...[
    'bind',
    '/var/lib/ranvier/sandboxes/id/home',
    '/mnt/home',
    'bind',
    '/var/lib/ranvier/sandboxes/id/tmp',
    '/mnt/tmp',
  ],
  ...['file', '/var/lib/ranvier/sandboxes/id/passwd', '/etc/passwd'],
  ...['file', '/var/lib/ranvier/sandboxes/id/group', '/etc/group'],
  ...['hide', '/run', 'hide', '/root', 'hide', '/var/lib/ranvier', 'restore-resolver', '/mnt'],
  ...['bind', '/mnt/tmp', '/tmp', 'bind', '/mnt/tmp', '/var/tmp', 'devices', '/mnt'],
  ...['shm', 'mode=1777,size=512m,nr_inodes=65536', 'terminals', 'proc'],
  ...[
    'acpi',
    'asound',
    'interrupts',
    'kcore',
    'key-users',
    'keys',
    'latency_stats',
    'sched_debug',
    'scsi',
    'timer_list',
  ].flatMap((name) => ['mask', `/proc/${name}`]),
  ...['class/net', 'devices/virtual/net', 'devices/virtual/powercap', 'firmware', 'fs/cgroup', 'kernel/slab'].flatMap(
    (name) => ['mask', `/sys/${name}`],
  ),
];

describe('Sandbox plan', () => {
  it('drops every privilege after the limits are set', () => {
    expect(commandArguments(HOST, PLAN)).to.deep.equal([
      ...['setsid', 'prlimit', '--core=0', '--nofile=16384', '--', ...DROP],
      ...FILTER,
      ...SHELL,
    ]);
  });

  it('limits memory and processes by rlimits without control groups', () => {
    expect(
      commandArguments(HOST, { ...PLAN, procsFiles: [], limits: { ...PLAN.limits, fileSizeMb: 1 } }),
    ).to.deep.equal([
      ...[
        'setsid',
        'prlimit',
        '--core=0',
        '--nofile=16384',
        '--fsize=1048576',
        '--data=1073741824',
        '--nproc=512',
        '--',
      ],
      ...DROP,
      ...FILTER,
      ...SHELL,
    ]);
  });

  it('needs nothing but a shell on a host without tools', () => {
    const bare: Host = { ...HOST, level: 'none', tools: { setsid: false, prlimit: false } };
    expect(sandboxArguments(bare, { ...PLAN, procsFiles: [] })).to.deep.equal([
      ...['/bin/sh', '-c', INIT, 'sandbox-init', 'same', '--', '--'],
      ...SHELL,
    ]);
  });

  it('makes mounts first, hides afterwards, and ends with the worker', () => {
    expect(mountOperations(HOST, PLAN)).to.deep.equal(MOUNTS);
    expect(sandboxArguments(HOST, PLAN)).to.deep.equal([
      ...['setpriv', '--pdeathsig', 'KILL'],
      ...['unshare', '--mount', '--pid', '--ipc', '--propagation', 'private', '--fork', '--kill-child=KILL'],
      ...['/bin/sh', '-c', INIT, 'sandbox-init', 'setsid', ...MOUNTS, '--', '/cg/memory/id/cgroup.procs', '--'],
      ...commandArguments(HOST, PLAN),
    ]);
  });

  it('makes mounts as the root of a user namespace, and gives the command its user back, if the platform is not root', () => {
    const rootless: Host = { ...HOST, level: 'rootless', tools: { setsid: false, prlimit: false } };
    const made = sandboxArguments(rootless, { ...PLAN, uid: 1000, procsFiles: [] });
    expect(made.slice(0, 6)).to.deep.equal(['setpriv', '--pdeathsig', 'KILL', 'unshare', '--user', '--map-root-user']);
    expect(made.slice(made.lastIndexOf('unshare'))).to.deep.equal([
      ...['unshare', '--user', '--map-user=1000', '--map-group=1000', 'setpriv', '--no-new-privs', '--'],
      ...FILTER,
      ...SHELL,
    ]);
  });

  it('joins the network of the sandbox before anything else, by nsenter at every level', () => {
    const attached = { address: '127.64.16.2', hostsFile: '/x/hosts', resolvFile: null };
    for (const { join } of [HOST_GROUND, { join: ['nsenter', '--user=/proc/7/ns/user', '--preserve-credentials'] }]) {
      expect(join[0]).to.equal('nsenter');
      const network = { ...attached, join: [...join, '--net=/run/netns/a', '--'] };
      const made = sandboxArguments(HOST, { ...PLAN, network });
      expect(made.slice(0, network.join.length)).to.deep.equal(network.join);
      expect(detachedArguments(HOST, { ...PLAN, network }, '/x/exit', '')[0]).to.equal('nsenter');
    }
  });

  it('a detached command is not tied to the worker and is outlived by its recorder', () => {
    const argv = detachedArguments(HOST, { ...PLAN, tied: false }, '/x/exit', '/cg/oom');
    expect(argv.slice(0, 7)).to.deep.equal([
      '/bin/sh',
      '-c',
      RECORDER,
      'sandbox-recorder',
      '/x/exit',
      '/cg/oom',
      'unshare',
    ]);
  });

  it('mounts an image below the folder, caches at their own path, and a hidden node at a visible path', () => {
    const host = { ...HOST, ownFolders: ['/opt/node/bin', '/root/platform/node/bin', '/root/.nvm/v20/bin'] };
    const operations = mountOperations(host, {
      ...PLAN,
      image: '/var/lib/ranvier/images/x',
      writable: ['/var/lib/ranvier/cache'],
    });
    const text = operations.join(' ');
    expect(text).to.include(
      'overlay /mnt /var/lib/ranvier/images/x /var/lib/ranvier/work /mnt/app own 300007:300007 /mnt/app',
    );
    expect(text).to.include(
      'readonly /root/platform/node /mnt/node readonly /root/.nvm/v20 /mnt/node1 bind /var/lib/ranvier/cache /mnt/writable/0',
    );
    expect(text).to.match(
      /hide \/var\/lib\/ranvier .* bind \/mnt\/writable\/0 \/var\/lib\/ranvier\/cache proc( mask \S+)+$/,
    );
    expect(searchPath(host)).to.match(/^\/opt\/node\/bin:\/mnt\/node\/bin:\/mnt\/node1\/bin:\/usr\/local\/sbin:/);
  });

  it('uses another stage if the sources are below the usual one', () => {
    const plan = { ...PLAN, directory: '/mnt/disk/work', scratch: '/mnt/disk/sandboxes/id' };
    const text = mountOperations({ ...HOST, hidden: ['/mnt/disk'] }, plan).join(' ');
    expect(text).to.match(/^stage \/media .* tree \/media \/mnt hide \/media restore-resolver \/mnt /);
  });

  it('hides each folder once, and never the root', () => {
    expect(hiddenFolders(['/root', '/run'], ['/run/ranvier', '/srv/ranvier', '/'])).to.deep.equal([
      '/run',
      '/root',
      '/srv/ranvier',
    ]);
  });

  it('quotes what belongs to the command and refuses names that a shell would read otherwise', () => {
    expect(commandScript('/mnt/app', { A: "it's $(x)" }, "echo 'a'")).to.equal(
      "umask 022\ncd -- '/mnt/app' || exit 126\nexport A='it'\\''s $(x)'\nexec /bin/sh -c 'echo '\\''a'\\'''\n",
    );
    expect(() => commandScript('/', { 'A;B': '1' }, 'x')).to.throw('not a name');
    expect(() => commandScript('/', { A: 'a\0b' }, 'x')).to.throw('NUL');
    expect(() => joinBelow('/mnt/app', '../etc')).to.throw('leads out');
  });
});
