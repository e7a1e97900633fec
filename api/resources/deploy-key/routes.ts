import { type Static, Type } from 'typebox';
import { fingerprintOf } from '../../../shared/ssh/model.js';
import {
  type DeployKeyRow,
  ensureDeployKey,
  forgetSshHost,
  listSshHosts,
  type SshHostRow,
} from '../../../shared/ssh/store.js';
import { deleted } from '../../http/assertions.js';
import { defineRoute } from '../../http/route.js';
import { DeletedResponse, Strict, Timestamp, Uuid } from '../../http/schema.js';

const Host = Strict({
  id: Uuid,
  host: Type.String(),
  fingerprints: Type.Array(Strict({ type: Type.String(), fingerprint: Type.String() })),
  pinnedAt: Timestamp,
});

const DeployKeySchema = Strict(
  { publicKey: Type.String(), fingerprint: Type.String(), createdAt: Timestamp, hosts: Type.Array(Host) },
  'DeployKey',
);
type DeployKeyView = Static<typeof DeployKeySchema>;

const DeployKeyResponse = Strict({ deployKey: DeployKeySchema });

const ONE = '/workspaces/:workspaceId/deploy-key';

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

export const deployKeyRoutes = [
  defineRoute('GET', ONE, 'deploy-key.read', {
    summary: 'Read the deploy key',
    description:
      'The public key with which private repositories are read over SSH, and the pinned host keys of SSH servers. The first read creates the key.',
    response: DeployKeyResponse,
    handler: async ({ deps, db, workspace }) => {
      const { id } = workspace.row;
      return { deployKey: presentDeployKey(await ensureDeployKey(db, deps.keyring, id), await listSshHosts(db, id)) };
    },
  }),
  defineRoute('DELETE', `${ONE}/hosts/:hostId`, 'deploy-key.forget-host', {
    summary: 'Forget an SSH server',
    description: 'Removes the pinned host keys of an SSH server. The next connection to the server pins its keys anew.',
    response: DeletedResponse,
    handler: async ({ trx, params, workspace }) => deleted(await forgetSshHost(trx, workspace.row.id, params.hostId)),
  }),
];
