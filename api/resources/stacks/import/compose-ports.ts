import { interpolate, type Reading } from './compose-text.js';
import { type Loose, type Lost, looseOf, textOf, textsOf } from './loose.js';
import { NOT_HTTP } from './service-parts.js';

/** Ports at which a service speaks TLS itself. The edge does so for it. */
const TLS = new Set([443, 8443, 9443]);
/** Images that are reached by other services at a port of theirs. */
const SERVERS: Readonly<Record<string, number>> = {
  ...{ mysql: 3306, mariadb: 3306, mongo: 27017, rabbitmq: 5672, memcached: 11211, elasticsearch: 9200, minio: 9000 },
  ...{ nats: 4222, postgis: 5432, pgvector: 5432, postgres: 5432, meilisearch: 7700, typesense: 8108, mailhog: 1025 },
};

/** A longer text is no port, image or test of health. */
const MAX_SHORT_LENGTH = 512;

/** Returns the kind of a service, by the ports that it publishes or exposes, or by its image. */
export function kindOf(
  at: string,
  service: Loose,
  { needed, env, lost }: Reading & { needed: boolean },
): { kind: 'web' | 'private' | 'worker'; port?: number } {
  const published = [service.ports].flat().flatMap((port) => containerPort(port, env));
  const exposed = textsOf(service.expose).map(Number);
  const isPlain = (each: number) => !NOT_HTTP.has(each) && !TLS.has(each);
  const port = published.find(isPlain) ?? published.find((each) => !NOT_HTTP.has(each)) ?? published[0];
  // The edge serves HTTPS, whatever the port of the service.
  const more = [...new Set(published)].filter((each) => each !== port && !(TLS.has(each) && published.some(isPlain)));
  if (more.length > 0) lost(`${at}.ports`, `only ${port} has an address of its own; without one: ${more.join(', ')}`);
  if (port !== undefined && !NOT_HTTP.has(port)) return { kind: 'web', port };
  if (port !== undefined) lost(`${at}.ports`, `${port} is reached by other services, and not from outside`);
  const image = typeof service.image === 'string' ? service.image.slice(0, MAX_SHORT_LENGTH) : '';
  const server = Object.entries(SERVERS).find(([word]) => new RegExp(`(^|/)${word}([:@]|$)`).test(image))?.[1];
  const inside = port ?? exposed.find(Number.isInteger) ?? server;
  if (inside !== undefined) return { kind: 'private', port: inside };
  if (needed && service.build !== undefined)
    lost(at, 'other services depend on it, and its port is not known: kind and port may be wrong');
  return { kind: 'worker' };
}

/** Returns the port in the container of `8080:80/tcp`, `127.0.0.1:8080:80` or `{ target: 80 }`. */
function containerPort(port: unknown, env: Readonly<Record<string, string>>): number[] {
  const { target, protocol = 'tcp' } = looseOf(port);
  const text = target === undefined ? interpolate(textOf(port), env).value : `${textOf(target)}/${textOf(protocol)}`;
  const [, number, kind = 'tcp'] =
    /(?:^|:)(\d+)(?:-\d+)?(?:\/(\w+))?$/.exec(text.trim().slice(-MAX_SHORT_LENGTH)) ?? [];
  return number === undefined || kind !== 'tcp' ? [] : [Number(number)];
}

/** Returns the path of a test of health that is a request. */
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
  // Other services of a private one wait for its port anyway.
  if (kind !== 'private')
    lost(`${at}.healthcheck`, 'is no request to a path: the service is ready when its port accepts connections');
  return {};
}
