import type { CommandDeps } from '../shared/commands/deps.js';
import type { Config } from '../shared/config.js';
import type { Db } from '../shared/db/client.js';
import type { WorkspaceRow } from '../shared/db/rows.js';
import type { CursorCodec } from '../shared/domain/cursor.js';
import type { AccessFacts } from '../shared/domain/policy.js';
import type { KeyScope, Role } from '../shared/domain/roles.js';
import type { Logger } from '../shared/log.js';
import type { Mailer } from '../shared/mail.js';
import type { Dispatcher } from '../shared/queues/dispatcher.js';
import type { Engine } from '../shared/queues/engine.js';
import type { CsrfTokens } from '../shared/secrets/csrf.js';
import type { Keyring } from '../shared/secrets/keyring.js';
import type { Metrics } from './metrics.js';

/** What the application is made of; `main.ts` and the tests pass it in. */
export interface AppDeps extends CommandDeps {
  config: Config;
  db: Db;
  engine: Engine;
  dispatcher: Pick<Dispatcher, 'wake'>;
  keyring: Keyring;
  mailer: Mailer;
  log: Logger;
  /** True once the process is ending: /readyz says so, and connections are closed after their answer. */
  isEnding: () => boolean;
}

/** What handlers find besides `AppDeps`: made once by `createApp`. */
export interface ApiDeps extends AppDeps {
  cursors: CursorCodec;
  csrf: CsrfTokens;
  metrics: Metrics;
}

/** Who sends the request. */
export interface Caller {
  kind: 'key' | 'session';
  /** The key's or session's id: rate limits, receipts and cursors belong to it. */
  credentialId: string;
  userId: string;
  email: string;
  emailVerified: boolean;
  /** What a workspace's `requireMfa` asks for: of a session that it was proved in it, of a key that its owner has one. */
  secondFactor: boolean;
  scope: KeyScope;
  /** The one workspace of a key; null where the credential is not confined. */
  workspaceId: string | null;
}

/** The workspace of the path, as the caller sees it. */
export interface WorkspaceAccess {
  row: WorkspaceRow;
  role: Role;
  facts: AccessFacts;
}
