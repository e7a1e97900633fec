import { AppError } from '../../../shared/core/error-registry.js';
import { fingerprintOf } from '../../../shared/ssh/model.js';
import {
  type DeployKeyRow,
  ensureDeployKey,
  forgetSshHost,
  listSshHosts,
  type SshHostRow,
} from '../../../shared/ssh/store.js';
import { defineRoute } from '../../http/route.js';
import { DeletedResponse } from '../../http/schema.js';
import { DeployKeyResponse, type DeployKeyView } from './schema.js';

const ONE = '/workspaces/:workspaceId/deploy-key';

/** Presents the public key. No response contains the private key. */
function presentDeployKey(row: DeployKeyRow, hosts: readonly SshHostRow[]): DeployKeyView {
  return {
    publicKey: row.public_key,
    fingerprint: fingerprintOf(row.public_key.split(' ')[1] ?? ''),
    createdAt: row.created_at.toISOString(),
    hosts: hosts.map(({ id, host, keys, created_at }) => ({
      id,
      host,
      fingerprints: keys.split('\n').map((line) => {
        const [type = '', key = ''] = line.split(' ');
        return { type, fingerprint: fingerprintOf(key) };
      }),
      pinnedAt: created_at.toISOString(),
    })),
  };
}

/** The SSH key for reading a workspace's private repositories, and the servers for which it was used. */
export const deployKeyRoutes = [
  defineRoute({
    method: 'GET',
    path: ONE,
    operation: 'deploy-key.read',
    summary: 'Read the deploy key',
    description:
      'The public key with which private repositories are read over SSH, and the pinned host keys of SSH servers. The first read creates the key.',
    response: DeployKeyResponse,
    handler: async ({ deps, db, workspace }) => {
      const { id } = workspace.row;
      return { deployKey: presentDeployKey(await ensureDeployKey(db, deps.keyring, id), await listSshHosts(db, id)) };
    },
  }),
  defineRoute({
    method: 'DELETE',
    path: `${ONE}/hosts/:hostId`,
    operation: 'deploy-key.forget-host',
    summary: 'Forget an SSH server',
    description: 'Removes the pinned host keys of an SSH server. The next connection to the server pins its keys anew.',
    response: DeletedResponse,
    handler: async ({ trx, params, workspace }) => {
      if (!(await forgetSshHost(trx, workspace.row.id, params.hostId))) throw new AppError('not_found');
      return { deleted: true } as const;
    },
  }),
];
