import { createHash } from 'node:crypto';
import { chmod, copyFile, mkdir, writeFile } from 'node:fs/promises';
import { createServer } from 'node:http2';
import type { Socket } from 'node:net';
import { join } from 'node:path';
import { buffer } from 'node:stream/consumers';
import { gzipSync } from 'node:zlib';
import { extract, pack } from 'tar-stream';
import type { DockerNode } from './docker.js';

/** Replaces the program Railpack, which cannot be installed for tests, and accepts its documented options. */
export interface RailpackStandIn {
  /** The folder that contains the program, for a PATH. */
  bin: string;
  /** The value of `BUILDKIT_HOST`. Only root may connect to it. */
  buildkitHost: string;
  connections: Set<Socket>;
  stop(): void;
}

/** Loads an image into Docker. Its Node.js is in its folder, because a sandbox does not see the platform's. */
const PROGRAM = (bin: string) => `#!${bin}/node
const { openSync, readdirSync, existsSync, symlinkSync } = require('node:fs');
const { spawn, spawnSync } = require('node:child_process');
const args = process.argv.slice(2);
console.log('argv', JSON.stringify(args));
console.log('sees', JSON.stringify(readdirSync(args.at(-1)).sort()), process.getuid() >= 300000);
console.log('docker.sock', existsSync('/var/run/docker.sock'), existsSync('/run/docker.sock'));
args.forEach((arg, i) => arg === '--env' && console.log('env', args[i + 1], JSON.stringify(process.env[args[i + 1]])));
console.log('platform', JSON.stringify([process.env.SECRETS_KEY, process.env.DOCKER_HOST, process.env.RAILPACK_DISABLE_CACHES]));
console.log('kept', readdirSync('/tmp/railpack').length);
require('node:fs').writeFileSync('/tmp/railpack/tool', '');
const connect = () => require('node:net').connect(process.env.BUILDKIT_HOST.slice('unix://'.length));
const buildkit = require('node:http2').connect('http://buildkit', { createConnection: connect });
buildkit.on('error', () => {});
buildkit.on('close', () => { console.error('failed to get buildkit information.'); process.exit(1); });
const call = (method) => {
  const headers = { ':method': 'POST', ':path': '/moby.buildkit.v1.Control/' + method, 'content-type': 'application/grpc' };
  return buildkit.request(headers).on('error', () => {}).end(method);
};
call('DiskUsage').on('response', ({ 'grpc-status': status }) => console.log('disk usage', status));
call('Solve').once('data', (answer) => {
  console.log('buildkit says', String(answer));
  if (existsSync('broken')) {
    console.error('#8 0.312 Error: the cause');
    console.error('failed to solve: process "sh -c npm run build" did not complete successfully: exit code: 1');
    process.exit(1);
  }
  if (existsSync('hangs')) return void spawn('sleep', ['98711'], { stdio: 'ignore' }).on('spawn', () => console.log('begun'));
  if (existsSync('forgets')) process.exit(0);
  const archive = require('node:path').join(process.env.PATH.split(':')[0], 'image.tar');
  if (existsSync('steals')) process.exit(symlinkSync('/etc/passwd', archive));
  if (existsSync('babbles')) process.exit(spawnSync('docker', ['load'], { input: 'no archive'.repeat(1000) }).status);
  if (existsSync('empties')) process.exit(spawnSync('docker', ['load'], { input: '' }).status);
  const image = openSync(require('node:path').join(__dirname, 'image.tar'));
  process.exit(spawnSync('docker', ['load'], { stdio: [image, 'inherit', 'inherit'] }).status);
});
`;

/** Installs programs instead of Railpack and BuildKit. Every build moves this image out of the Docker engine. */
export async function startRailpack(
  folder: string,
  { docker }: DockerNode,
  image: string,
  names: string[],
): Promise<RailpackStandIn> {
  const bin = join(folder, 'bin');
  await mkdir(bin);
  await copyFile(process.execPath, join(bin, 'node'));
  await writeFile(join(bin, 'railpack'), PROGRAM(bin), { mode: 0o755 });
  const saved = await buffer(await docker.getImage(image).get());
  await writeFile(join(bin, 'image.tar'), await likeBuildkit(saved, names));
  await docker.getImage(image).remove();
  const connections = new Set<Socket>();
  const server = createServer();
  server.on('connection', (connection: Socket) => {
    connections.add(connection.on('close', () => connections.delete(connection)));
    connection.on('error', () => {});
  });
  server.on('stream', (call) => {
    call.on('error', () => {}).on('data', (data) => call.write(`done: ${data}`));
    call.respond({ ':status': 200, 'content-type': 'application/grpc' });
  });
  const socket = join(folder, 'buildkitd.sock');
  await new Promise<void>((resolve) => server.listen(socket, resolve));
  await chmod(socket, 0o600);
  const stop = () => {
    server.close();
    for (const connection of connections) connection.destroy();
  };
  return { bin, buildkitHost: `unix://${socket}`, connections, stop };
}

/** Converts an archive of `docker save` into what BuildKit returns: an OCI layout with Docker's manifest. */
async function likeBuildkit(saved: Buffer, names: string[]): Promise<Buffer> {
  const entries = await entriesOf(saved);
  const [{ Config, Layers }] = JSON.parse(String(entries.get('manifest.json')));
  const output = pack();
  const blob = (content: Buffer = Buffer.alloc(0)) => {
    const path = `blobs/sha256/${createHash('sha256').update(content).digest('hex')}`;
    output.entry({ name: path }, content, () => {});
    return path;
  };
  const manifest = [
    {
      Config: blob(entries.get(Config)),
      Layers: Layers.map((name: string) => blob(gzipSync(entries.get(name) ?? ''))),
      RepoTags: names,
    },
  ];
  const [repo = '', tag = ''] = (names[0] ?? '').split(':');
  const files = {
    'manifest.json': manifest,
    repositories: { [repo]: { [tag]: 'x' } },
    'index.json': {},
    'oci-layout': {},
  };
  for (const [name, value] of Object.entries(files)) output.entry({ name }, JSON.stringify(value), () => {});
  output.entry({ name: 'link', type: 'symlink', linkname: '.' }, () => {});
  output.entry({ name: 'link/../manifest.json' }, JSON.stringify(manifest), () => {});
  output.finalize();
  return buffer(output);
}

async function entriesOf(archive: Buffer): Promise<Map<string, Buffer>> {
  const found = new Map<string, Buffer>();
  const reader = extract();
  reader.end(archive);
  for await (const entry of reader) found.set(entry.header.name, await buffer(entry));
  return found;
}
