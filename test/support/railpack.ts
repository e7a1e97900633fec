import { createHash } from 'node:crypto';
import { chmod, mkdir, writeFile } from 'node:fs/promises';
import { createServer, type Socket } from 'node:net';
import { join } from 'node:path';
import type { Readable } from 'node:stream';
import { buffer } from 'node:stream/consumers';
import { gzipSync } from 'node:zlib';
import { extract, pack } from 'tar-stream';
import type { DockerNode } from './docker.js';

/** The program cannot be had where the tests run: this takes its place, with its options as its documentation has them. */
export interface RailpackStandIn {
  /** The folder of the program, for a PATH. */
  bin: string;
  /** As `BUILDKIT_HOST` takes it: what listens there answers, and only root may ask. */
  buildkitHost: string;
  /** Open connections to what listens there. */
  connections: Set<Socket>;
  stop(): void;
}

/** Tells how it was called, asks BuildKit, and gives an image to `docker load`, as the documentation has it. */
const PROGRAM = `#!${process.execPath}
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
const socket = require('node:net').connect(process.env.BUILDKIT_HOST.slice('unix://'.length));
socket.on('error', () => {});
socket.on('close', () => { console.error('failed to get buildkit information.'); process.exit(1); });
socket.write('solve');
socket.once('data', (answer) => {
  console.log('buildkit says', String(answer));
  if (existsSync('broken')) {
    console.log('#8 0.312 Error: the cause');
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

/**
 * Puts the stand-in and what it takes for BuildKit into a folder. Whatever it is to build, it gives out the image of that
 * name, which the engine then has no more, under these names.
 */
export async function startRailpack(
  folder: string,
  { docker }: DockerNode,
  image: string,
  names: string[],
): Promise<RailpackStandIn> {
  const bin = join(folder, 'bin');
  await mkdir(bin);
  await writeFile(join(bin, 'railpack'), PROGRAM, { mode: 0o755 });
  const saved = await buffer(await docker.getImage(image).get());
  await writeFile(join(bin, 'image.tar'), await likeBuildkit(saved, names));
  await docker.getImage(image).remove();
  const connections = new Set<Socket>();
  const server = createServer((connection) => {
    connections.add(connection.on('close', () => connections.delete(connection)));
    connection.on('error', () => {}).on('data', (data) => connection.write(`done: ${data}`));
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

/** The archive of `docker save` as BuildKit writes it: an OCI layout with Docker's manifest, here with names of others. */
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
  reader.on('entry', (header, body: Readable, next) => {
    buffer(body).then((content) => {
      found.set(header.name, content);
      next();
    }, next);
  });
  await new Promise<void>((resolve, reject) => {
    reader.on('finish', () => resolve());
    reader.on('error', reject);
    reader.end(archive);
  });
  return found;
}
