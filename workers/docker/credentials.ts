import { openRegistry } from '../../shared/commands/registries.js';
import type { Db } from '../../shared/db/client.js';
import type { Keyring } from '../../shared/secrets/keyring.js';
import type { Registry } from './registry.js';

/** An account at a registry, as the engine's API takes it. */
export interface RegistryAccount {
  username: string;
  password: string;
  /** The registry's host and port, as the names of its images have it. */
  serveraddress: string;
}

/** The registry as images' names have it → who to be there. */
export type Accounts = ReadonlyMap<string, RegistryAccount>;

/** Docker Hub has a name of its own for logging in. */
const HUB_ADDRESS = 'https://index.docker.io/v1/';

/** As `X-Registry-Auth`; an engine wants one even where there is no account. */
export function authconfig(account: RegistryAccount | Registry['auth'] | undefined): object {
  if (account === undefined) return {};
  return { ...account, serveraddress: addressOf(account.serveraddress) };
}

/** As `X-Registry-Config`: by the registry's address. */
export function registryconfig(accounts: Accounts): Record<string, object> {
  return Object.fromEntries(
    [...accounts].map(([server, { username, password }]) => [addressOf(server), { username, password }]),
  );
}

function addressOf(server: string): string {
  return server === 'docker.io' ? HUB_ADDRESS : server;
}

/** The account that a workspace's `registryId` names; null where it names none. Throws `SealError`. */
export async function findAccount(
  db: Db,
  keyring: Keyring,
  workspaceId: string,
  registryId: string,
): Promise<RegistryAccount | null> {
  const found = await openRegistry(db, keyring, workspaceId, registryId);
  return found && { username: found.username, password: found.password.reveal(), serveraddress: found.server };
}
