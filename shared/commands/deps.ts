import type { Config } from '../config.js';
import type { Keyring } from '../secrets/keyring.js';

/** What commands need besides their transaction. The caller commits, and then wakes the dispatcher. */
export interface CommandDeps {
  keyring: Keyring;
  config: Pick<Config, 'hostingEnabled' | 'allowLocalRepositories' | 'runtime' | 'edgeDomain' | 'edgePort' | 'edgeTls'>;
}
