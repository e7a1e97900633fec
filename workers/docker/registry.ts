import type { Config } from '../../shared/config.js';

/** Where images are pushed to and where nodes pull them from. */
export interface Registry {
  /** What an image's name begins with: `registry.example.com:5000/prefix`, without a slash at its end. */
  prefix: string;
  /** Credentials as Docker's API takes them (`authconfig`); none where the address has none. */
  auth: { username: string; password: string; serveraddress: string } | undefined;
}

/** The registry of `REGISTRY_URL`; null where none is set. */
export function registryOf({ docker: { registryUrl } }: Pick<Config, 'docker'>): Registry | null {
  if (registryUrl === null) return null;
  const { host, pathname, username, password } = new URL(registryUrl.reveal());
  const auth =
    username === ''
      ? undefined
      : {
          username: decodeURIComponent(username),
          password: decodeURIComponent(password),
          serveraddress: host,
        };
  return { prefix: `${host}${pathname}`.replace(/\/+$/, ''), auth };
}
