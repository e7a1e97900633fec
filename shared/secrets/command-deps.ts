import type { Config } from '../core/config.js';
import type { Keyring } from './keyring.js';

/** After the commit, the caller must call `dispatcher.wake`, so that the stored work is started at once. */
export interface CommandDeps {
  keyring: Keyring;
  config: Pick<
    Config,
    'hostingEnabled' | 'allowLocalRepositories' | 'runtime' | 'edgeDomain' | 'edgePort' | 'edgeTls' | 'reservedSlugs'
  >;
}
