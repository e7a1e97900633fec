import { createHash } from 'node:crypto';
import { mkdir } from 'node:fs/promises';
import { join } from 'node:path';
import type { Db } from '../../shared/core/database/database-client.js';
import { runLimited } from '../../shared/core/run-limited.js';
import type { Keyring } from '../../shared/secrets/keyring.js';
import { knownHostName, type SshAddress, scannedKeys } from '../../shared/ssh/model.js';
import { ensureDeployKey, findSshHost, openPrivateKey, pinSshHost } from '../../shared/ssh/store.js';
import { quote } from '../core/quote.js';
import { replaceFile } from '../core/replace-file.js';
import { SourceError } from '../failures/explained-errors.js';

const SCAN_SECONDS = 10;

/** Access to git servers over SSH, with a workspace's deploy key and pinned host keys. */
export interface SshAccess {
  /** Returns the `core.sshCommand` for a repository. The server's host keys are pinned on first use. */
  commandFor(workspaceId: string, remote: SshAddress, address: string): Promise<string>;
}

/** Creates an `SshAccess` that uses the workspace's deploy key. */
export function createSshAccess({ db, keyring, dataDir }: { db: Db; keyring: Keyring; dataDir: string }): SshAccess {
  return {
    async commandFor(workspaceId, remote, address) {
      const folder = join(dataDir, 'ssh', workspaceId);
      await mkdir(folder, { recursive: true, mode: 0o700 });
      const key = join(folder, 'key');
      const row = await ensureDeployKey(db, keyring, workspaceId);
      await replaceFile(key, openPrivateKey(keyring, row));
      const name = knownHostName(remote);
      const pinned =
        (await findSshHost(db, workspaceId, name)) ??
        (await pinSshHost(db, workspaceId, name, await scan(remote, address)));
      const lines = pinned.keys.split('\n').map((line) => `${name} ${line}\n`);
      const known = join(folder, `known-${createHash('sha256').update(name).digest('hex').slice(0, 24)}`);
      await replaceFile(known, lines.join(''));
      return sshCommand({ key, known, name, address });
    },
  };
}

/** The command ignores the host's ssh configuration, never prompts, and starts no other program. */
function sshCommand({ key, known, name, address }: Record<'key' | 'known' | 'name' | 'address', string>): string {
  const options = [
    'BatchMode=yes',
    'IdentitiesOnly=yes',
    'IdentityAgent=none',
    'PreferredAuthentications=publickey',
    'StrictHostKeyChecking=yes',
    `UserKnownHostsFile="${known}"`,
    'GlobalKnownHostsFile=/dev/null',
    'UpdateHostKeys=no',
    `HostKeyAlias=${name}`,
    `HostName=${address}`,
    'ProxyCommand=none',
    'PermitLocalCommand=no',
    'ForwardAgent=no',
    'ConnectTimeout=20',
    'ServerAliveInterval=15',
    'ServerAliveCountMax=4',
  ];
  return ['ssh', '-F', '/dev/null', '-i', quote(key), ...options.flatMap((option) => ['-o', quote(option)])].join(' ');
}

async function scan({ host, port }: SshAddress, address: string): Promise<string[]> {
  const args = ['-T', String(SCAN_SECONDS), '-p', String(port), '--', address];
  const options = { timeout: 3000 * SCAN_SECONDS };
  const { stdout } = await runLimited('ssh-keyscan', args, options).catch((error: NodeJS.ErrnoException) => {
    if (error.code === 'ENOENT') throw new SourceError('ssh is not installed on this host; install openssh-client');
    return { stdout: '' };
  });
  const keys = scannedKeys(stdout);
  if (keys.length === 0) throw new SourceError(`${host} does not answer as an SSH server on port ${port}`);
  return keys;
}
