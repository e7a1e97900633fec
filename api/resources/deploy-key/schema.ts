import { type Static, Type } from 'typebox';
import { Strict, Timestamp, Uuid } from '../../http/schema.js';

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
export type DeployKeyView = Static<typeof DeployKeySchema>;

export const DeployKeyResponse = Strict({ deployKey: DeployKeySchema });
