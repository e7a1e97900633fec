import { interpolate, type Reading } from './compose-text.js';
import { type Loose, type Lost, looseOf, textOf, textsOf } from './loose.js';
import { NOT_HTTP } from './service-parts.js';

/** Ports at which services usually terminate TLS themselves. On this platform, the edge terminates TLS instead. */
const TLS = new Set([443, 8443, 9443]);
/** Ports of databases, queues and mail catchers, which are published for the developer's own tools. */
const DATA = new Set([1025, 1433, 1521, 3306, 4222, 5432, 5672, 6379, 9042, 9092, 11211, 27017]);
const DEBUGGERS = new Set([2345, 5005, 5678, 5858, 9229, 9230]);
/** Images of servers that other services connect to → their default port. */
const SERVERS: Readonly<Record<string, number>> = {
  ...{ mysql: 3306, mariadb: 3306, mongo: 27017, rabbitmq: 5672, memcached: 11211, elasticsearch: 9200, minio: 9000 },
  ...{
    nats: 4222,
    postgis: 5432,
    pgvector: 5432,
    postgres: 5432,
    meilisearch: 7700,
    redis: 6379,
    valkey: 6379,
    typesense: 8108,
    mailhog: 1025,
  },
};

/** Maximum length of a text that is parsed as a port, image or health check. */
const MAX_SHORT_LENGTH = 512;

/** Returns the kind and port of a service, from its ports, its image, and other services' variables. */
export function kindOf(
  at: string,
  service: Loose,
  { named, env, lost }: Reading & { named: number | undefined },
): { kind: 'web' | 'private' | 'worker'; port?: number } {
  const ports = [service.ports].flat().flatMap((port) => containerPort(port, env));
  const published = ports.map(({ port }) => port);
  const exposed = textsOf(service.expose).map(Number);
  const isPlain = (each: number) => !NOT_HTTP.has(each) && !TLS.has(each);
  const port = published.find(isPlain) ?? published.find((each) => !NOT_HTTP.has(each)) ?? published[0];
  const isWeb = port !== undefined && !NOT_HTTP.has(port);
  // Visitors can no longer reach these ports: all except the web port, and a TLS port beside it that the edge replaces.
  const closed = ports.filter((each) => !(isWeb && (each.port === port || (TLS.has(each.port) && isPlain(port)))));
  for (const each of new Map(closed.map((one) => [one.port, one])).values()) {
    if (each.isLocal || DEBUGGERS.has(each.port)) continue;
    if (DATA.has(each.port))
      lost(`${at}.ports`, `${each.port} is open to its neighbours, and to you by rnv connect`, 'note');
    else lost(`${at}.ports`, `${each.port} is open to its neighbours only: one HTTP port has an address`);
  }
  if (isWeb) return { kind: 'web', port };
  const image = typeof service.image === 'string' ? service.image.slice(0, MAX_SHORT_LENGTH) : '';
  const server = Object.entries(SERVERS).find(([word]) => new RegExp(`(^|/)${word}([:@]|$)`).test(image))?.[1];
  const inside = port ?? exposed.find(Number.isInteger) ?? named ?? server;
  return inside === undefined ? { kind: 'worker' } : { kind: 'private', port: inside };
}

/** Returns the container's port in `8080:80/tcp`, `127.0.0.1:8080:80` or `{ target: 80 }`. */
function containerPort(port: unknown, env: Readonly<Record<string, string>>): { port: number; isLocal: boolean }[] {
  const { target, protocol = 'tcp', host_ip: host } = looseOf(port);
  const text = target === undefined ? interpolate(textOf(port), env).value : `${textOf(target)}/${textOf(protocol)}`;
  const [, number, kind = 'tcp'] =
    /(?:^|:)(\d+)(?:-\d+)?(?:\/(\w+))?$/.exec(text.trim().slice(-MAX_SHORT_LENGTH)) ?? [];
  const isLocal = /^(127\.|localhost:)/.test(textOf(host) || text);
  return number === undefined || kind !== 'tcp' ? [] : [{ port: Number(number), isLocal }];
}

/**
 * Returns the path that a health check requests by HTTP. Reports any other health check, except of a private service.
 */
export function healthOf(
  at: string,
  { healthcheck }: Loose,
  { kind, lost }: { kind: string; lost: Lost },
): { healthCheckPath?: string } {
  const { test, disable } = looseOf(healthcheck);
  if (test === undefined || disable === true) return {};
  const text = textsOf(test).join(' ').slice(0, MAX_SHORT_LENGTH);
  const path = /https?:\/\/(?:localhost|127\.0\.0\.1|0\.0\.0\.0)(?::[\w${}]+)?(\/[!-~]*?)?(?=['"\s|;)]|$)/.exec(text);
  if (path !== null) return { healthCheckPath: path[1] ?? '/' };
  // A private service loses nothing: it is ready when its port accepts connections, whatever its health check is.
  if (kind !== 'private')
    lost(
      `${at}.healthcheck`,
      'is no request to a path: the service is ready when its port accepts connections',
      'note',
    );
  return {};
}
