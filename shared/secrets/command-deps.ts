import type { Config } from '../core/config.js';
import type { Keyring } from './keyring.js';

/**
 * What a command needs to change the database. After the commit, the caller of the command must call
 * `dispatcher.wake`, so that workers start queued jobs at once.
 */
export interface CommandDeps {
  keyring: Keyring;
  config: Pick<
    Config,
    'hostingEnabled' | 'allowLocalRepositories' | 'runtime' | 'edgeDomain' | 'edgePort' | 'edgeTls' | 'reservedSlugs'
  >;
}
