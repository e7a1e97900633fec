import { errorMessage } from '../../shared/core/error-registry.js';
import { onAbort } from '../../shared/core/on-abort.js';
import { quote } from '../core/quote.js';
import { infoOf, openRedis } from '../data/redis-session.js';
import { BackupError } from '../failures/explained-errors.js';
import type { TenantFolder } from '../volumes/tenant-folder.js';
import type { Manifest } from './backup-archive.js';
import { type FreshServer, withFreshServer } from './fresh-server.js';
import type { RedisFacts } from './redis-source.js';

export interface RedisFigures {
  keys: number;
  expired: number;
}

const SOCKET = 'redis.sock';

/** Checks that a fresh server opens a backup and finds the manifest's number of keys. Throws a `BackupError`. */
export async function checkRedis(
  server: Omit<FreshServer, 'command'> & { binary: string },
  manifest: Manifest,
): Promise<RedisFigures> {
  const facts = manifest.facts as RedisFacts;
  const command = ({ data, sockets }: { data: string; sockets: string }) => {
    const options = {
      port: '0',
      unixsocket: `${sockets}/${SOCKET}`,
      dir: data,
      appendonly: 'yes',
      save: '',
      daemonize: 'no',
      logfile: '',
      maxmemory: '0',
    };
    return `${quote(server.binary)} ${Object.entries(options)
      .map(([name, value]) => `--${name} ${quote(value)}`)
      .join(' ')}`;
  };
  const connect = (sockets: TenantFolder) =>
    sockets.withSocket(SOCKET, async (path) => {
      const client = openRedis({ path });
      await client.connect();
      return client;
    });
  return withFreshServer(
    { ...server, command },
    async (sockets) => {
      try {
        const client = await connect(sockets);
        const info = infoOf(await client.info('persistence').finally(() => client.disconnect()));
        return info.loading === '0';
      } catch {
        return false;
      }
    },
    async (sockets, signal) => {
      const client = await connect(sockets).catch((error: unknown) => {
        throw new BackupError(`the fresh server does not answer: ${errorMessage(error)}`);
      });
      const forgetAbort = onAbort(signal, () => client.disconnect());
      try {
        const info = infoOf(await client.info('persistence'));
        const keys = Number(info.rdb_last_load_keys_loaded ?? Number.NaN);
        const expired = Number(info.rdb_last_load_keys_expired ?? 0);
        if (keys + expired !== facts.keys) {
          throw new BackupError(`the copy has ${keys} keys and ${expired} expired ones, the server had ${facts.keys}`);
        }
        return { keys, expired };
      } finally {
        forgetAbort();
        client.disconnect();
      }
    },
  );
}
