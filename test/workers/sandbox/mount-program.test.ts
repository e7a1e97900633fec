import { execFile } from 'node:child_process';
import { chown, mkdir, mkdtemp, realpath, rm, symlink, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect } from 'chai';
import { mountProgram } from '../../../workers/sandbox/mount-program.js';
import { mountOperations } from '../../../workers/sandbox/sandbox-plan.js';
import { INIT } from '../../../workers/sandbox/sandbox-scripts.js';
import { isRoot } from '../../../workers/sandbox/service-users.js';

const UID = 4_242;
/** What a command sees: its mounts, the owners of its files, the name servers, and folders that are hidden. */
const LOOK = `
cat /proc/self/mountinfo
find /mnt ! -path '/mnt/tools/*' -printf '%P %u %m %l\\n' | sort
cat /etc/resolv.conf /etc/hosts
ls -A /root /run /tmp /dev/shm
touch /mnt/tools/tool/x || echo read only
`;

describe('The program that makes the mounts of a sandbox', () => {
  let folder: string;

  before(async function () {
    if (process.platform !== 'linux' || !isRoot() || mountProgram() === null) this.skip();
    folder = await realpath(await mkdtemp(join(tmpdir(), 'ranvier-mounts-')));
    for (const path of ['image/src/deep', 'image/node_modules/a', 'scratch/home', 'scratch/tmp', 'tool/bin', 'cache']) {
      await mkdir(join(folder, path), { recursive: true });
    }
    await writeFile(join(folder, 'image', 'src', 'deep', 'a\nname'), '');
    await writeFile(join(folder, 'image', 'node_modules', 'a', 'index.js'), '');
    await symlink('/etc/passwd', join(folder, 'image', 'src', 'link'));
    for (const name of ['passwd', 'group']) await writeFile(join(folder, 'scratch', name), `${name}:\n`);
    await writeFile(join(folder, 'hosts'), '127.0.0.1 neighbour\n');
    await writeFile(join(folder, 'resolv.conf'), 'nameserver 192.0.2.1\n');
    await chown(join(folder, 'cache'), UID, UID);
  });
  after(async () => {
    if (folder) await rm(folder, { recursive: true, force: true });
  });

  it('makes the same as the init', async () => {
    const byProgram = await look(mountProgram() ?? [], await operations('program'));
    const byInit = await look([], await operations('init'));
    expect(byProgram).to.deep.equal(byInit);
    expect(byInit.some((line) => line.startsWith('app/src/deep/a'))).to.equal(true);
    expect(byInit).to.include.members(['read only', 'nameserver 192.0.2.1', '127.0.0.1 neighbour']);
  });

  it('ends with a message if a mount fails', async () => {
    const { code, err } = await run([
      ...(mountProgram() ?? []),
      'bind',
      join(folder, 'absent'),
      '/mnt/x',
      '--',
      'true',
    ]);
    expect(code).to.equal(125);
    expect(err).to.match(/^sandbox: cannot mount .*absent at \/mnt\/x: /);
  });

  /** Each attempt has a work folder of its own. */
  async function operations(name: string): Promise<string[]> {
    await mkdir(join(folder, name));
    const host = { level: 'namespaces', overlay: true, tools: { setsid: false, prlimit: false } } as const;
    const place = { ownFolders: ['/usr/bin'], hidden: ['/run', '/root', folder], filter: [], mounter: [], oci: null };
    return mountOperations(
      { ...host, ...place },
      {
        marker: '',
        uid: UID,
        directory: join(folder, name),
        image: join(folder, 'image'),
        scratch: join(folder, 'scratch'),
        writable: [join(folder, 'cache')],
        tools: [join(folder, 'tool')],
        limits: { memoryMb: 1, cpu: 1, pids: 1 },
        procsFiles: [],
        tied: true,
        mapped: null,
        network: {
          join: [],
          address: '',
          hostsFile: join(folder, 'hosts'),
          resolvFile: join(folder, 'resolv.conf'),
        },
      },
    );
  }

  /** The output of `LOOK` after these operations, without what differs from mount to mount. Without a program the init makes them. */
  async function look(program: readonly string[], wanted: readonly string[]): Promise<string[]> {
    const init = ['/bin/sh', '-c', INIT, 'sandbox-init', 'same'];
    const command = ['--', '--', '/bin/sh', '-c', LOOK];
    const made = program.length > 0 ? [...program, ...wanted, '--', ...init] : [...init, ...wanted];
    const { code, out, err } = await run([...made, ...command]);
    expect(code, err).to.equal(0);
    return out.split('\n').map((line) =>
      line
        .replace(/^\d+ \d+ \d+:\d+ /, '')
        .replaceAll(`${folder}/program`, `${folder}/init`)
        .replaceAll(/(master|propagate_from|shared):\d+ /g, ''),
    );
  }

  function run(argv: readonly string[]): Promise<{ code: number; out: string; err: string }> {
    const args = ['--mount', '--pid', '--propagation', 'private', '--fork', '--kill-child=KILL', ...argv];
    return new Promise((resolve) => {
      execFile('unshare', args, (error, out, err) =>
        resolve({ code: error === null ? 0 : Number(error.code), out, err }),
      );
    });
  }
});
