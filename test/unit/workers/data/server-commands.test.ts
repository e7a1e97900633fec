import { spawn, spawnSync } from 'node:child_process';
import { chmod, mkdir, mkdtemp, readFile, rm, symlink, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect } from 'chai';
import { exists } from '../../../../shared/core/exists.js';
import { postgresCommand } from '../../../../workers/data/server-commands.js';

describe('The command of a PostgreSQL server', () => {
  let folder: string;
  beforeEach(async () => {
    folder = await mkdtemp(join(tmpdir(), 'ranvier-server-'));
  });
  afterEach(() => rm(folder, { recursive: true, force: true }));

  it('starts no second server on a host without flock', async () => {
    const [bin, data] = [join(folder, 'bin'), join(folder, 'data')];
    for (const path of [bin, data]) await mkdir(path);
    for (const name of ['ps', 'rm']) {
      const found = spawnSync('/bin/sh', ['-c', `command -v ${name}`], { encoding: 'utf8' });
      await symlink(found.stdout.trim(), join(bin, name));
    }
    await writeFile(join(bin, 'postgres'), '#!/bin/sh\nexit 0\n');
    await chmod(join(bin, 'postgres'), 0o755);
    const command = postgresCommand({ planId: 'starter', port: 5432, listen: '127.0.0.1' });
    const start = () => spawnSync('/bin/sh', ['-c', command], { env: { PATH: bin, DATA: data }, encoding: 'utf8' });
    const pidFile = join(data, 'postmaster.pid');

    const server = spawn('/bin/sh', ['-c', 'sleep 60; :', 'postgres', '-D', data], { detached: true });
    try {
      await writeFile(pidFile, `${server.pid}\n${data}\n`);
      const refused = start();
      expect(refused.status).to.equal(1);
      expect(refused.stderr).to.contain('another server');
      expect(await readFile(pidFile, 'utf8')).to.contain(`${server.pid}`);
    } finally {
      process.kill(-(server.pid ?? 0), 'SIGKILL');
    }
    // The id now belongs to a program that is not a server of this folder.
    await writeFile(pidFile, `${process.pid}\n`);
    expect(start()).to.include({ status: 0, stderr: '' });
    expect(await exists(pidFile)).to.equal(false);
  });
});
