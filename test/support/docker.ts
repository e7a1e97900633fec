import { type ChildProcess, execFile, execFileSync, spawn, spawnSync } from 'node:child_process';
import { once } from 'node:events';
import { access, cp, mkdir, mkdtemp, readFile, realpath, rm, symlink, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { basename, dirname, join } from 'node:path';
import { promisify } from 'node:util';
import Docker from 'dockerode';
import { makeCertificates } from './certificates.js';
import { removeCgroups } from './cgroups.js';
import { eventually } from './processes.js';

const run = promisify(execFile);

/** The base image of tests: this Node.js, a shell and a few tools. Making it needs no network. */
export const NODE_IMAGE = 'local/node:latest';

const TOOLS = ['dockerd', 'unshare', 'nsenter', 'ip', 'busybox'];

/** The reason why no Docker engine can be started on this machine; '' if one can. */
export const NO_DOCKER: string = reasonAgainstDocker();

function reasonAgainstDocker(): string {
  if (process.platform !== 'linux' || process.getuid?.() !== 0) return 'needs root on Linux';
  const missing = TOOLS.filter((tool) => {
    try {
      execFileSync('/bin/sh', ['-c', `command -v ${tool}`], { stdio: 'ignore' });
      return false;
    } catch {
      return true;
    }
  });
  if (missing.length > 0) return `needs ${missing.join(', ')}`;
  const bridge = ['--net', '--mount', '--uts', '--pid', '--fork', 'ip', 'link', 'add', 'br0', 'type', 'bridge'];
  return spawnSync('unshare', bridge).status === 0 ? '' : 'needs a host that lets it make namespaces and bridges';
}

const TLS_PORT = 2376;
const ENDED = 'dockerd ended with code';

let networks = 0;

/** Docker engines of one test file, each as if on its own machine. All end with this process. */
export class DockerMachines {
  readonly nodes: DockerNode[] = [];
  readonly #folder: string;
  readonly #prefix: string;
  readonly #switch: ChildProcess;

  private constructor(folder: string, prefix: string, bridge: ChildProcess) {
    this.#folder = folder;
    this.#prefix = prefix;
    this.#switch = bridge;
  }

  static async create(): Promise<DockerMachines> {
    const folder = await realpath(await mkdtemp(join(tmpdir(), 'ranvier-docker-')));
    const number = (process.pid + 61 * networks++) % 4096;
    const prefix = `10.${200 + (number >> 8)}.${number & 255}`;
    const bridge = confined(['--net'], 'ip link set lo up && ip link add br0 type bridge && ip link set br0 up');
    const machines = new DockerMachines(folder, prefix, bridge);
    await spoke(bridge);
    const host = `rv${number}h`;
    await run('ip', ['link', 'add', host, 'type', 'veth', 'peer', 'name', 'host', 'netns', String(bridge.pid)]);
    await run('ip', ['address', 'add', `${prefix}.254/24`, 'dev', host]);
    await run('ip', ['link', 'set', host, 'up']);
    await machines.#plug('host');
    return machines;
  }

  get hostAddress(): string {
    return `${this.#prefix}.254`;
  }

  /** Starts another engine, which is in no swarm. With `tls` it also listens on its address. */
  async addNode({ tls = false } = {}): Promise<DockerNode> {
    const number = this.nodes.length + 1;
    const node = new DockerNode(join(this.#folder, `node${number}`), `node${number}`, `${this.#prefix}.${number}`);
    if (tls) await makeCertificates(node.certificates, node.address);
    this.nodes.push(node);
    await this.boot(node);
    return node;
  }

  /** Starts a new machine, or one that was killed, with its disk. */
  async boot(node: DockerNode): Promise<void> {
    // The kernel needs some time to remove the network interface of a killed machine.
    await this.#unplug(node.name);
    await node.start(async (pid) => {
      const cable = ['link', 'add', 'eth0', 'netns', String(pid), 'type', 'veth', 'peer', 'name', node.name];
      await run('ip', [...cable, 'netns', String(this.#switch.pid)]);
      await this.#plug(node.name);
    });
  }

  async addManager(options: { tls?: boolean } = {}): Promise<DockerNode> {
    const node = await this.addNode(options);
    await node.docker.swarmInit({ AdvertiseAddr: node.address, ListenAddr: '0.0.0.0:2377' });
    return node;
  }

  async addWorker(manager: DockerNode): Promise<DockerNode> {
    const node = await this.addNode();
    await this.join(node, manager);
    return node;
  }

  async join(node: DockerNode, manager: DockerNode): Promise<void> {
    const { JoinTokens } = await manager.docker.swarmInspect();
    await node.docker.swarmJoin({
      AdvertiseAddr: node.address,
      ListenAddr: '0.0.0.0:2377',
      RemoteAddrs: [`${manager.address}:2377`],
      JoinToken: JoinTokens.Worker,
    });
  }

  async destroy(): Promise<void> {
    for (const node of this.nodes) await node.kill();
    await ended(this.#switch);
    for (const node of this.nodes) await node.removeCgroups();
    await rm(this.#folder, { recursive: true, force: true });
  }

  async #unplug(name: string): Promise<void> {
    const inside = ['-t', String(this.#switch.pid), '-n', 'ip', 'link', 'delete', name];
    await run('nsenter', inside).catch((error: Error) => {
      if (!error.message.includes('Cannot find device')) throw error;
    });
  }

  async #plug(name: string): Promise<void> {
    const inside = ['-t', String(this.#switch.pid), '-n', 'ip', 'link', 'set', name, 'master', 'br0', 'up'];
    await run('nsenter', inside);
  }
}

export interface SwarmNode {
  ID: string;
  Version: { Index: number };
  Spec: object;
  Description: { Hostname: string };
  Status: { State: string };
}

export class DockerNode {
  readonly name: string;
  readonly address: string;
  readonly socket: string;
  readonly docker: Docker;
  readonly #folder: string;
  #machine: ChildProcess | null = null;
  #log = '';

  constructor(folder: string, name: string, address: string) {
    this.#folder = folder;
    this.name = name;
    this.address = address;
    this.socket = join(folder, 'docker.sock');
    this.docker = new Docker({ host: '', socketPath: this.socket });
  }

  get host(): string {
    return `unix://${this.socket}`;
  }

  get tlsHost(): string {
    return `tcp://${this.address}:${TLS_PORT}`;
  }

  get certificates(): string {
    return join(this.#folder, 'certificates');
  }

  /** A process in the machine's network namespace, for `nsenter`. */
  get pid(): number {
    return this.#machine?.pid ?? 0;
  }

  async start(connect: (pid: number) => Promise<void>): Promise<void> {
    // /run is empty after a boot.
    for (const name of ['run', 'docker.pid', 'docker.sock']) {
      await rm(join(this.#folder, name), { recursive: true, force: true });
    }
    await mkdir(join(this.#folder, 'run'), { recursive: true });
    const namespaces = ['--net', '--mount', '--uts', '--pid', '--fork', '--kill-child', '--mount-proc'];
    const own = (name: string) => join(this.certificates, name);
    const tls = await access(this.certificates).then(
      () => [
        `-H tcp://${this.address}:${TLS_PORT} --tlsverify --tlscacert=${own('ca.pem')}`,
        `--tlscert=${own('server-cert.pem')} --tlskey=${own('server-key.pem')}`,
      ],
      () => [],
    );
    const dockerd = [
      `dockerd -H ${this.host} --data-root=${this.#folder}/data --exec-root=${this.#folder}/run`,
      `--pidfile=${this.#folder}/docker.pid --cgroup-parent=${this.#cgroup} --userland-proxy=false`,
      ...tls,
    ].join(' ');
    const machine = confined(
      namespaces,
      `hostname ${this.name} && ip link set lo up && read cable && ip link set eth0 up &&
       ip address add ${this.address}/24 dev eth0 &&
       { while :; do ${dockerd}; echo "${ENDED} $?" >&2; rm -f ${this.#folder}/docker.pid; sleep 1; done & }`,
    );
    this.#machine = machine;
    machine.stderr?.on('data', (chunk) => {
      this.#log = (this.#log + chunk).slice(-20_000);
      if (String(chunk).includes(ENDED)) process.stderr.write(`${this.name}: ${this.#log}\n`);
    });
    await namespaceOf(machine);
    await connect(machine.pid ?? 0);
    machine.stdin?.write('\n');
    await eventually(`${this.name} answers`, () => this.docker.ping()).catch((error) => {
      throw new Error(`${error.message}\n${this.#log}`);
    });
  }

  /** Kills the engine and its containers at once, as a power cut would. */
  async kill(): Promise<void> {
    if (this.#machine) await ended(this.#machine);
    this.#machine = null;
  }

  async swarmNode(name: string): Promise<SwarmNode> {
    const nodes: SwarmNode[] = await this.docker.listNodes();
    const found = nodes.find(({ Description }) => Description.Hostname === name);
    if (!found) throw new Error(`no node ${name} in the swarm`);
    return found;
  }

  async importNode(): Promise<void> {
    const archive = await baseArchive(dirname(this.#folder));
    await this.import(NODE_IMAGE, archive, ['ENV PATH=/usr/local/bin:/bin', 'WORKDIR /app']);
  }

  async import(name: string, archive: string, changes: string[]): Promise<void> {
    const [repo, tag] = name.split(':');
    await this.#progress(await this.docker.importImage(archive, { repo, tag, changes }));
  }

  /** Builds an image from another image and Dockerfile instructions that need no files. */
  async derive(name: string, instructions: string[], from = NODE_IMAGE): Promise<void> {
    const folder = await mkdtemp(join(this.#folder, 'build-'));
    await writeFile(join(folder, 'Dockerfile'), [`FROM ${from}`, ...instructions].join('\n'));
    await this.#progress(await this.docker.buildImage({ context: folder, src: ['Dockerfile'] }, { t: name }));
  }

  /** Rejects if the engine reports an error. */
  async #progress(stream: NodeJS.ReadableStream): Promise<void> {
    const events = await new Promise<{ error?: string }[]>((resolve, reject) => {
      this.docker.modem.followProgress(stream, (error, output = []) => (error ? reject(error) : resolve(output)));
    });
    const failed = events.find((event) => event.error !== undefined);
    if (failed) throw new Error(failed.error);
  }

  get #cgroup(): string {
    return `/${basename(dirname(this.#folder))}-${this.name}`;
  }

  removeCgroups(): Promise<void> {
    return removeCgroups(this.#cgroup);
  }
}

/** Runs a script in new namespaces, which exist until this process ends or closes the script's input. */
function confined(namespaces: string[], script: string): ChildProcess {
  const stay = `${script}\necho up\ncat >/dev/null`;
  return spawn('unshare', [...namespaces, '/bin/sh', '-c', stay], {
    env: { PATH: '/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin' },
    stdio: ['pipe', 'pipe', 'pipe'],
  });
}

async function spoke(child: ChildProcess): Promise<void> {
  if (child.stdout) await once(child.stdout, 'data');
}

async function namespaceOf(child: ChildProcess): Promise<void> {
  const own = await realpathOfLink('/proc/self/ns/net');
  await eventually('the machine has its own network', async () => {
    return (await realpathOfLink(`/proc/${child.pid}/ns/net`)) !== own;
  });
}

async function realpathOfLink(path: string): Promise<string> {
  const { stdout } = await run('readlink', [path]);
  return stdout.trim();
}

async function ended(child: ChildProcess): Promise<void> {
  if (child.exitCode !== null || child.signalCode !== null) return;
  const exit = once(child, 'exit');
  child.kill('SIGKILL');
  await exit;
}

/** Makes a tar file with this Node.js, its libraries and busybox, once for a test file. */
async function baseArchive(folder: string): Promise<string> {
  const archive = join(folder, 'node.tar');
  const root = join(folder, 'node-image');
  try {
    await mkdir(root);
  } catch {
    return archive;
  }
  for (const name of ['app', 'bin', 'etc', 'proc', 'dev', 'sys', 'tmp', 'usr/local/bin']) {
    await mkdir(join(root, name), { recursive: true });
  }
  await cp(process.execPath, join(root, 'usr/local/bin/node'));
  for (const library of await librariesOf(process.execPath)) {
    await cp(library, join(root, library), { dereference: true });
  }
  const { stdout: busybox } = await run('/bin/sh', ['-c', 'command -v busybox']);
  await cp(busybox.trim(), join(root, 'bin/busybox'), { dereference: true });
  for (const tool of ['sh', 'test', 'ls', 'cat', 'sleep', 'echo', 'true', 'false', 'wget', 'kill', 'rm', 'sync']) {
    await symlink('busybox', join(root, 'bin', tool));
  }
  await writeFile(join(root, 'etc/passwd'), 'root:x:0:0:root:/:/bin/sh\nnode:x:1000:1000:node:/app:/bin/sh\n');
  await writeFile(join(root, 'etc/nsswitch.conf'), 'hosts: files dns\n');
  await run('tar', ['-C', root, '-cf', archive, '.']);
  return archive;
}

/** Returns the shared libraries of a program, and those with which it resolves names. */
export async function librariesOf(program: string): Promise<string[]> {
  const { stdout } = await run('ldd', [program]);
  const found = [...stdout.matchAll(/(\/\S+) \(0x/g)].map((match) => match[1] ?? '');
  const libc = found.find((path) => path.includes('libc.so'));
  const lookups = ['libnss_files.so.2', 'libnss_dns.so.2', 'libresolv.so.2'].map((name) =>
    join(dirname(libc ?? '/'), name),
  );
  const present = await Promise.all(
    lookups.map((path) =>
      readFile(path).then(
        () => path,
        () => '',
      ),
    ),
  );
  return [...found, ...present.filter((path) => path !== '')];
}
