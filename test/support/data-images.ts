import { execFile } from 'node:child_process';
import { cp, mkdir, rm, symlink, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { ownPostgres } from '../../shared/core/postgres-package.js';
import { type DockerNode, librariesOf } from './docker.js';

const run = promisify(execFile);

/** An image with PostgreSQL and redis. Like the official images, it has flock, perl and a shell. */
const DATA_IMAGE = 'local/data-servers:latest';
export const DATA_IMAGES = { POSTGRES_IMAGE: DATA_IMAGE, REDIS_IMAGE: DATA_IMAGE };

const PROGRAMS = ['/usr/bin/redis-server', '/usr/bin/flock', '/usr/bin/perl'];
const PERL_LIBRARY = '/usr/lib/x86_64-linux-gnu/perl-base';
const TOOLS = 'sh test [ ls cat sleep echo chmod chown sync mv rm mkdir tar find head kill id true wget dd seq'.split(
  ' ',
);

/** Loads `DATA_IMAGE` into a Docker engine, without a network. */
export async function importDataServers(node: DockerNode, folder: string): Promise<void> {
  const own = await ownPostgres();
  if (own === null) throw new Error('the package of PostgreSQL is not installed');
  const root = join(folder, 'data-image');
  for (const name of ['bin', 'etc', 'proc', 'dev', 'sys', 'tmp', 'usr/bin', 'usr/local']) {
    await mkdir(join(root, name), { recursive: true });
  }
  await run('cp', ['-a', join(own.folder, 'native'), join(root, 'usr/local/postgres')]);
  const native = ['initdb', 'postgres'].map((name) => join(own.folder, 'native/bin', name));
  const libraries = new Set((await Promise.all([...PROGRAMS, ...native].map(librariesOf))).flat());
  for (const path of [...PROGRAMS, ...libraries]) {
    if (!path.startsWith(own.folder)) await cp(path, join(root, path), { dereference: true });
  }
  await cp(PERL_LIBRARY, join(root, PERL_LIBRARY), { recursive: true, dereference: true });
  const { stdout: busybox } = await run('/bin/sh', ['-c', 'command -v busybox']);
  await cp(busybox.trim(), join(root, 'bin/busybox'), { dereference: true });
  for (const tool of TOOLS) await symlink('busybox', join(root, 'bin', tool));
  await writeFile(join(root, 'etc/passwd'), 'root:x:0:0:root:/:/bin/sh\npostgres:x:999:999:postgres:/:/bin/sh\n');
  await writeFile(join(root, 'etc/group'), 'root:x:0:\npostgres:x:999:\n');
  const archive = join(folder, 'data-image.tar');
  await run('tar', ['-C', root, '-cf', archive, '.']);
  await node.import(DATA_IMAGE, archive, ['ENV PATH=/usr/local/postgres/bin:/usr/bin:/bin']);
  await rm(root, { recursive: true, force: true });
  await rm(archive, { force: true });
}
