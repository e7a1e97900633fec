import type { Config } from '../../shared/core/config.js';
import type { Db } from '../../shared/core/database/database-client.js';
import type { Logger } from '../../shared/core/log.js';
import type { Mailer } from '../../shared/core/mail.js';
import type { AccessFacts, KeyScope, Role } from '../../shared/identity/policy.js';
import type { Dispatcher } from '../../shared/queues/dispatcher.js';
import type { Engine } from '../../shared/queues/queue-engine.js';
import type { CommandDeps } from '../../shared/secrets/command-deps.js';
import type { Keyring } from '../../shared/secrets/keyring.js';
import type { WorkspaceRow } from '../../shared/workspaces/model.js';
import type { CsrfTokens } from '../auth/csrf-token.js';
import type { CursorCodec } from './cursor.js';
import type { Metrics } from './metrics.js';
import type { ReceiptQuota } from './receipt-quota.js';

export interface AppDeps extends CommandDeps {
  config: Config;
  db: Db;
  engine: Engine;
  dispatcher: Pick<Dispatcher, 'wake'>;
  keyring: Keyring;
  mailer: Mailer;
  log: Logger;
  /** True while the process shuts down: /readyz returns 503, and connections close after a response. */
  isEnding: () => boolean;
}

export interface ApiDeps extends AppDeps {
  cursors: CursorCodec;
  csrf: CsrfTokens;
  metrics: Metrics;
  receipts: ReceiptQuota;
}

export interface Caller {
  kind: 'key' | 'session';
  credentialId: string;
  userId: string;
  email: string;
  emailVerified: boolean;
  /** True if the session was started with a second factor or passkey, or the key's owner has a second factor. */
  secondFactor: boolean;
  /** True for a session that was started with a password. A workspace can refuse such sessions. */
  byPassword: boolean;
  scope: KeyScope;
  /** The workspace of an API key; null for a session, which can access all workspaces of its user. */
  workspaceId: string | null;
}

export interface WorkspaceAccess {
  row: WorkspaceRow;
  role: Role;
  facts: AccessFacts;
}
