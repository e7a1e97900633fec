import type { Config } from '../../shared/core/config.js';
import type { Db } from '../../shared/core/database/database-client.js';
import { openRegistry } from '../../shared/images/registries.js';
import type { Keyring } from '../../shared/secrets/keyring.js';

/** Credentials in the format of Docker's API (`authconfig`). */
export interface RegistryAccount {
  username: string;
  password: string;
  /** The registry's host and port, as in image names. */
  serveraddress: string;
}

/** Registry, spelled as in image names → credentials. */
export type Accounts = ReadonlyMap<string, RegistryAccount>;

/** The registry to which built images are pushed, and from which nodes pull. */
export interface Registry {
  /** Prefix of image names: `registry.example.com:5000/prefix`, without a trailing slash. */
  prefix: string;
  /** Undefined if `REGISTRY_URL` names no user. */
  auth: RegistryAccount | undefined;
}

/** Returns the registry in `REGISTRY_URL`; null if it is not set. */
export function registryOf({ docker: { registryUrl } }: Pick<Config, 'docker'>): Registry | null {
  if (registryUrl === null) return null;
  const { host, pathname, username, password } = new URL(registryUrl.reveal());
  const prefix = `${host}${pathname}`.replace(/\/+$/, '');
  if (username === '') return { prefix, auth: undefined };
  const account = { username: decodeURIComponent(username), password: decodeURIComponent(password) };
  return { prefix, auth: { ...account, serveraddress: host } };
}

/** Returns the credentials with this `registryId` of a workspace; null if there are none. Throws `SealError`. */
export async function findAccount(
  db: Db,
  keyring: Keyring,
  workspaceId: string,
  registryId: string,
): Promise<RegistryAccount | null> {
  const found = await openRegistry(db, keyring, workspaceId, registryId);
  return found && { username: found.username, password: found.password.reveal(), serveraddress: found.server };
}

/** Docker Hub's name in credentials, which differs from the host in image names. */
const HUB_ADDRESS = 'https://index.docker.io/v1/';

/** Returns the value for `X-Registry-Auth`, which the engine requires even without credentials. */
export function authconfig(account: RegistryAccount | undefined): object {
  if (account === undefined) return {};
  return { ...account, serveraddress: addressOf(account.serveraddress) };
}

/** Returns the value for `X-Registry-Config`: address of a registry → credentials. */
export function registryconfig(accounts: Accounts): Record<string, object> {
  return Object.fromEntries(
    [...accounts].map(([server, { username, password }]) => [addressOf(server), { username, password }]),
  );
}

function addressOf(server: string): string {
  return server === 'docker.io' ? HUB_ADDRESS : server;
}
