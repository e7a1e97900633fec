import { expect } from 'chai';
import { containerConfig } from '../../../../workers/sandbox/container-config.js';
import type { ContainedHost, Plan } from '../../../../workers/sandbox/sandbox-plan.js';

const HOST: ContainedHost = {
  level: 'root',
  overlay: true,
  ownFolders: ['/root/node/bin'],
  hidden: ['/root', '/var/lib/ranvier'],
  oci: {
    runtime: '/usr/sbin/runc',
    conmon: '/usr/bin/conmon',
    rootfs: '/var/lib/ranvier/containers/root',
    record: '/var/lib/ranvier/containers/record',
    enter: '/var/lib/ranvier/containers/enter',
    mountVolumes: '/data/containers/mount-volumes',
    system: ['/etc', '/usr', '/var'],
    hasImageTools: true,
    seccomp: null,
    overlayOptions: ['volatile'],
    limitsSwap: true,
    resolver: '/etc/resolv.conf',
    hasHosts: true,
  },
  cgroups: {
    version: 1,
    memory: '/cgroup/memory/token',
    cpu: '/cgroup/cpu/token',
    accounting: null,
    maxCpu: Number.POSITIVE_INFINITY,
    sockets: null,
    all: [],
    runtimePath: 'token',
  },
};
const PLAN: Plan = {
  marker: 'token:id',
  uid: 300_007,
  directory: '/var/lib/ranvier/work',
  image: '/var/lib/ranvier/image',
  scratch: '/var/lib/ranvier/sandboxes/id',
  volumes: [],
  writable: ['/var/lib/ranvier/cache'],
  tools: ['/var/lib/ranvier/tools/x'],
  limits: { memoryMb: 64, cpu: 0.5, pids: 32, fileSizeMb: 10 },
  tied: false,
  mapped: null,
  network: { join: [], address: '10.0.0.2', hostsFile: '/h', resolvFile: '/r' },
};
const COMMAND = { cwd: '/mnt/app', env: { A: "it's $(x)" }, command: 'node .' };

function config(plan: Partial<Plan> = {}, host: Partial<ContainedHost> = {}) {
  return containerConfig({ ...HOST, ...host }, { ...PLAN, ...plan }, COMMAND, 'id');
}

describe('The configuration of a container', () => {
  it('runs the command without privileges, within its limits', () => {
    const { process, linux } = config();
    expect(process.user).to.deep.equal({ uid: 300_007, gid: 300_007 });
    expect(process.noNewPrivileges).to.equal(true);
    expect(Object.values(process.capabilities).flat()).to.deep.equal([]);
    expect(process.args).to.deep.equal([
      ...['/bin/sh', '/.init', 'free', '/mnt/app', 'here', '/bin/sh', '-c', 'node .'],
    ]);
    expect(process.env).to.deep.equal(["A=it's $(x)"]);
    expect(process.rlimits).to.deep.include({ type: 'RLIMIT_FSIZE', hard: 10 * 2 ** 20, soft: 10 * 2 ** 20 });
    expect(linux.cgroupsPath).to.equal('token/id');
    expect(linux.resources).to.deep.include({
      memory: { limit: 64 * 2 ** 20, swap: 64 * 2 ** 20 },
      cpu: { quota: 50_000, period: 100_000 },
      pids: { limit: 32 },
    });
    expect(config({ tied: true }).process.args[2]).to.equal('tied');
  });

  it("sees the host's system read only, nothing of the platform, and its own folders", () => {
    const { mounts } = config();
    const at = (path: string) => mounts.filter(({ destination }) => destination === path).at(-1);
    expect(at('/usr')).to.deep.include({ source: '/usr', options: ['rbind', 'ro', 'nosuid', 'nodev', 'rprivate'] });
    expect(at('/var/lib/ranvier')).to.deep.include({ type: 'tmpfs' });
    expect(at('/root')).to.equal(undefined);
    expect(at('/mnt/node')).to.deep.include({ source: '/root/node' });
    expect(at('/mnt/tools/x')).to.deep.include({ source: '/var/lib/ranvier/tools/x' });
    expect(at('/etc/resolv.conf')).to.deep.include({ source: '/r' });
    expect(at('/etc/hosts')).to.deep.include({ source: '/h' });
    expect(at('/var/lib/ranvier/cache')?.options).to.include('rw');
    expect(at('/mnt/app')?.options).to.include.members([
      'lowerdir=/var/lib/ranvier/image',
      'upperdir=/var/lib/ranvier/work/upper',
    ]);
  });

  it('gives the files of an image to the user of the service, and mounts a folder as it is', () => {
    expect(config().hooks.createContainer[0]?.args).to.include.members(['-exec', '300007:300007']);
    const volume = { folder: '/v', path: '/mnt/app/data', exclusive: true, grows: false };
    expect(config({ volumes: [volume] }).hooks.createContainer[0]?.args)
      .to.include('-execdir')
      .and.not.include('-exec');
    const folder = config({ image: null });
    expect(folder.hooks.createContainer).to.deep.equal([]);
    expect(folder.mounts.find(({ destination }) => destination === '/mnt/app')).to.deep.include({
      source: '/var/lib/ranvier/work',
      options: ['rbind', 'rw', 'nosuid', 'nodev', 'rprivate'],
    });
  });

  it('maps one user without root, and gives the command that number and no way to a second user namespace', () => {
    const rootless = { level: 'rootless', cgroups: null } as const;
    const { process, linux, mounts, hooks } = config({ uid: 1000 }, rootless);
    expect(linux.namespaces).to.deep.include({ type: 'user' }).and.not.deep.include({ type: 'cgroup' });
    // In the user namespace that has the network, the platform's user is 0.
    expect(linux.uidMappings).to.deep.equal([{ containerID: 0, hostID: 0, size: 1 }]);
    expect(config({ uid: 1000, network: null }, rootless).linux.gidMappings).to.deep.equal([
      { containerID: 0, hostID: 1000, size: 1 },
    ]);
    expect(process.user).to.deep.equal({ uid: 0, gid: 0 });
    // A shell enters the namespaces of process 1, which must be the container's.
    const [init, own] = [process.args.slice(0, 5), process.args.slice(5)];
    expect(init.slice(0, 3)).to.deep.equal(['/bin/sh', '/.init', 'free']);
    expect(own.slice(0, 4)).to.deep.equal(['unshare', '--user', '--map-user=1000', '--map-group=1000']);
    expect(own).to.include.members(['--no-new-privs', '--bounding-set=-all', '/.variables']);
    expect(process.noNewPrivileges).to.equal(true);
    // Programs that still have privileges get no variable of the command.
    expect(process.env.slice(2)).to.deep.equal(['RANVIER_NAMES=A', "RANVIER_ENV_A=it's $(x)"]);
    expect(hooks.createContainer[0]?.args.join(' ')).to.match(/echo 1 >.*max_user_namespaces/);
    expect(process.rlimits).to.deep.include({ type: 'RLIMIT_DATA', hard: 576 * 2 ** 20, soft: 576 * 2 ** 20 });
    expect(process.rlimits.map(({ type }) => type)).to.include('RLIMIT_NPROC');
    expect(linux).to.not.have.any.keys('cgroupsPath', 'resources');
    expect(linux.maskedPaths).to.include('/sys/fs/cgroup');
    expect(mounts.find(({ destination }) => destination === '/sys')?.type).to.equal('bind');
  });

  it('refuses variables that cannot be passed', () => {
    const withEnv = (env: Record<string, string>) => () => containerConfig(HOST, PLAN, { ...COMMAND, env }, 'id');
    expect(withEnv({ 'A;B': '1' })).to.throw('not a name');
    expect(withEnv({ A: 'a\0b' })).to.throw('NUL');
  });
});
