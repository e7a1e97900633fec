import { resolve } from 'node:path';
import { Sensitive } from './secrets/sensitive.js';

/**
 * Every setting of the platform, read once from the environment and validated at start.
 * The README lists the variables; nothing else in the house reads `process.env`.
 */
export interface Config {
  /** The API's port (`PORT`). */
  port: number;
  /** The edge's port and the domain under which services answer (`EDGE_PORT`, `EDGE_DOMAIN`). */
  edgePort: number;
  edgeDomain: string;
  /** Absolute path of everything kept on disk: images, mirrors, logs of processes (`DATA_DIR`). */
  dataDir: string;
  databaseUrl: Sensitive;
  /** Queues run on Redis where this is set, on PostgreSQL otherwise (`REDIS_URL`). */
  redisUrl: Sensitive | null;
  runtime: 'process' | 'swarm';
  /** The engine of `RUNTIME=swarm`: its address (`DOCKER_HOST`), and where its nodes get images from (`REGISTRY_URL`). */
  docker: { host: string; registryUrl: Sensitive | null };
  /** Which of the engine's builders makes images; `auto` is the engine's own default (`DOCKER_BUILDER`). */
  dockerBuilder: 'auto' | 'buildkit' | 'classic';
  /** Where BuildKit listens for the Railpack program (`BUILDKIT_HOST`), and where that program is looked for (`PATH`). */
  railpack: { buildkitHost: string | null; searchPath: string };
  /** Runtime → the image that generated Dockerfiles begin with (`BASE_IMAGES`). */
  baseImages: Record<string, string>;
  edge: 'node' | 'caddy';
  /** Where the admin API of the Caddy listens through which `EDGE=caddy` serves (`CADDY_ADMIN_URL`). */
  caddyAdminUrl: string;
  /** Services answer over HTTPS on this port, with certificates of Caddy's own authority or of an ACME one, given by its
   * directory and told whom to write to (`EDGE_TLS`, `EDGE_TLS_PORT`, `ACME_CA`, `ACME_EMAIL`). */
  edgeTls: { certificates: 'internal' | 'acme'; port: number; email: string | null; authority: string | null } | null;
  /** base64 of 32 bytes; encrypts variables and snapshots (`SECRETS_KEY`). */
  secretsKey: Sensitive;
  /** Older keys that still open what they sealed (`SECRETS_KEY_PREVIOUS`). */
  previousSecretsKeys: Sensitive[];
  /** `file:` repositories and private addresses are accepted (`ALLOW_LOCAL_REPOSITORIES`). */
  allowLocalRepositories: boolean;
  /** Credentials of `/admin/queues`; the dashboard is off without them. */
  dashboard: { user: string; password: Sensitive } | null;
  /** How e-mail leaves the platform (`SMTP_URL`, `MAIL_FROM`); without it nothing is sent. */
  mail: { smtpUrl: Sensitive; from: string } | null;
  /** Where people reach the API, without a slash at the end; links in e-mails lead there (`PUBLIC_URL`). */
  publicUrl: string;
  /** One proxy in front of the API says who calls and whether over TLS (`TRUST_PROXY`: X-Forwarded-For, -Proto). */
  trustProxy: boolean;
  logLevel: string;
  /** Real execution can be queued at all (`HOSTING_ENABLED`). */
  hostingEnabled: boolean;
  rateLimits: { readsPerMinute: number; writesPerMinute: number };
  /** How many deployments one worker process runs at a time (`WORKER_CONCURRENCY`). */
  workerConcurrency: number;
  /** Names of platform variables that builds may see: proxies, registries, certificate bundles (`BUILD_ENV`). */
  buildEnvironment: Record<string, string>;
  /** Seconds a release may take to become healthy (`RELEASE_TIMEOUT_SECONDS`). */
  releaseTimeoutSeconds: number;
  /** Seconds an application has between TERM and KILL (`STOP_GRACE_SECONDS`). */
  stopGraceSeconds: number;
  /** First and last port given to hosted processes (`RUNTIME_PORTS`, "20000-29999"). */
  runtimePorts: { first: number; last: number };
}

/** `auto` runs what needs no language of its own, and compiled programs. */
const BASE_IMAGES: Readonly<Record<string, string>> = {
  node: 'node:22-bookworm-slim',
  python: 'python:3.13-slim-bookworm',
  go: 'golang:1.25-bookworm',
  auto: 'buildpack-deps:bookworm-curl',
};

/** All problems of an environment at once, each naming its variable and what to do. */
export class ConfigError extends Error {
  readonly problems: string[];
  constructor(problems: string[]) {
    super(`The configuration is not usable:\n${problems.map((p) => `  - ${p}`).join('\n')}`);
    this.name = 'ConfigError';
    this.problems = problems;
  }
}

const BUILD_ENVIRONMENT_DEFAULT = [
  'HTTP_PROXY',
  'HTTPS_PROXY',
  'NO_PROXY',
  'http_proxy',
  'https_proxy',
  'no_proxy',
  'NODE_EXTRA_CA_CERTS',
  'SSL_CERT_FILE',
  'SSL_CERT_DIR',
  'npm_config_registry',
  'NPM_CONFIG_REGISTRY',
  'npm_config_cafile',
  'PIP_INDEX_URL',
  'PIP_CERT',
  'GOPROXY',
];

const SOCKET_ADDRESS = /^unix:\/\/\/.|^tcp:\/\/[^/:]+:\d+\/?$/;

type Environment = Readonly<Record<string, string | undefined>>;

/** Reads and validates the environment. Throws `ConfigError` with every problem found. */
export function loadConfig(env: Environment = process.env): Config {
  const problems: string[] = [];

  function text(name: string, fallback: string): string {
    const value = env[name];
    return value === undefined || value === '' ? fallback : value;
  }
  function required(name: string, hint: string): string {
    const value = text(name, '');
    if (value === '') problems.push(`${name} is not set: ${hint}`);
    return value;
  }
  function integer(name: string, fallback: number, min: number, max: number): number {
    const value = Number(text(name, String(fallback)));
    if (!Number.isInteger(value) || value < min || value > max) {
      problems.push(`${name} must be an integer from ${min} to ${max}, not "${env[name]}"`);
    }
    return value;
  }
  function flag(name: string, fallback: boolean): boolean {
    const value = text(name, String(fallback)).toLowerCase();
    if (['1', 'true', 'on', 'yes'].includes(value)) return true;
    if (!['0', 'false', 'off', 'no'].includes(value))
      problems.push(`${name} must be true or false, not "${env[name]}"`);
    return false;
  }
  function choice<T extends string>(name: string, values: readonly T[], fallback: T): T {
    const value = text(name, fallback);
    const found = values.find((v) => v === value);
    if (found === undefined) problems.push(`${name} must be one of ${values.join(', ')}, not "${value}"`);
    return found ?? fallback;
  }
  function images(name: string): Record<string, string> {
    const given: Record<string, string> = {};
    for (const pair of text(name, '').split(',')) {
      const [runtime = '', image = ''] = pair.split('=').map((part) => part.trim());
      if (runtime === '' && image === '') continue;
      if (!Object.hasOwn(BASE_IMAGES, runtime) || !/^[!-~]+$/.test(image)) {
        problems.push(`${name} must be a comma list such as node=node:22, of ${Object.keys(BASE_IMAGES).join(', ')}`);
      }
      given[runtime] = image;
    }
    return { ...BASE_IMAGES, ...given };
  }
  function portRange(name: string, fallback: string): { first: number; last: number } {
    const match = /^(\d+)-(\d+)$/.exec(text(name, fallback));
    const first = Number(match?.[1]);
    const last = Number(match?.[2]);
    if (!match || first < 1024 || last > 65535 || last - first < 10) {
      problems.push(`${name} must be a port range such as 20000-29999, not "${env[name]}"`);
    }
    return { first, last };
  }

  const databaseUrl = required('DATABASE_URL', 'a postgres:// address; "npm start" brings its own database');
  const secretsKey = required('SECRETS_KEY', 'base64 of 32 random bytes, e.g. from "openssl rand -base64 32"');
  const secrets = readSecretsKeys(env, secretsKey);
  problems.push(...secrets.problems);
  const redisUrl = text('REDIS_URL', '');
  if (redisUrl !== '' && !/^rediss?:\/\//.test(redisUrl))
    problems.push('REDIS_URL must start with redis:// or rediss://');
  const dockerHost = text('DOCKER_HOST', 'unix:///var/run/docker.sock');
  if (!SOCKET_ADDRESS.test(dockerHost)) {
    problems.push(`DOCKER_HOST must be unix:///path/to/docker.sock or tcp://host:port, not "${dockerHost}"`);
  }
  const runtime = choice('RUNTIME', ['process', 'swarm'], 'process');
  // Nothing but builds of containers reads it, and other tools know more forms.
  const buildkitHost = runtime === 'swarm' ? text('BUILDKIT_HOST', '') : '';
  if (buildkitHost !== '' && !SOCKET_ADDRESS.test(buildkitHost)) {
    problems.push(`BUILDKIT_HOST must be unix:///path/to/buildkitd.sock or tcp://host:port, not "${buildkitHost}"`);
  }
  const registryUrl = text('REGISTRY_URL', '');
  if (registryUrl !== '' && !(/^https?:\/\//.test(registryUrl) && URL.canParse(registryUrl))) {
    problems.push('REGISTRY_URL must be an address such as https://user:password@registry.example.com/prefix');
  }
  const dashboardUser = text('DASHBOARD_USER', '');
  const dashboardPassword = text('DASHBOARD_PASSWORD', '');
  if ((dashboardUser === '') !== (dashboardPassword === '')) {
    problems.push('DASHBOARD_USER and DASHBOARD_PASSWORD must be set together');
  }
  const port = integer('PORT', 3000, 1, 65535);
  const publicUrl = text('PUBLIC_URL', `http://localhost:${port}`).replace(/\/+$/, '');
  if (text('PUBLIC_URL', '') !== '' && !(/^https?:\/\//.test(publicUrl) && URL.canParse(publicUrl))) {
    problems.push(`PUBLIC_URL must be an address such as https://ranvier.example.com, not "${env.PUBLIC_URL}"`);
  }
  const smtpUrl = text('SMTP_URL', '');
  const mailFrom = text('MAIL_FROM', '');
  if (smtpUrl !== '' && !(/^smtps?:\/\//.test(smtpUrl) && URL.canParse(smtpUrl))) {
    problems.push('SMTP_URL must be an address such as smtp://user:password@host:587 or smtps://host');
  }
  if ((smtpUrl === '') !== (mailFrom === '')) problems.push('SMTP_URL and MAIL_FROM must be set together');

  const edge = choice('EDGE', ['node', 'caddy'], 'node');
  const caddyAdminUrl = text('CADDY_ADMIN_URL', 'http://127.0.0.1:2019');
  if (!(/^(http:\/\/|unix:\/\/\/)./.test(caddyAdminUrl) && URL.canParse(caddyAdminUrl))) {
    problems.push(
      `CADDY_ADMIN_URL must be an address such as http://127.0.0.1:2019 or unix:///run/caddy.sock, not "${caddyAdminUrl}"`,
    );
  }
  const certificates = choice('EDGE_TLS', ['off', 'internal', 'acme'], 'off');
  const edgeTlsPort = integer('EDGE_TLS_PORT', 443, 1, 65535);
  const acmeEmail = text('ACME_EMAIL', '');
  const acmeAuthority = text('ACME_CA', '');
  if (certificates !== 'off' && edge !== 'caddy') {
    problems.push(`EDGE_TLS=${certificates} needs EDGE=caddy; the node edge serves HTTP, behind a TLS proxy of yours`);
  }
  if (acmeAuthority !== '' && !(/^https:\/\//.test(acmeAuthority) && URL.canParse(acmeAuthority))) {
    problems.push('ACME_CA must be the https:// address of the directory of an ACME authority');
  }

  const config: Config = {
    port,
    edgePort: integer('EDGE_PORT', 8080, 1, 65535),
    edgeDomain: text('EDGE_DOMAIN', 'localhost').toLowerCase(),
    dataDir: resolve(text('DATA_DIR', '.data')),
    databaseUrl: new Sensitive(databaseUrl),
    redisUrl: redisUrl === '' ? null : new Sensitive(redisUrl),
    runtime,
    docker: { host: dockerHost, registryUrl: registryUrl === '' ? null : new Sensitive(registryUrl) },
    dockerBuilder: choice('DOCKER_BUILDER', ['auto', 'buildkit', 'classic'], 'auto'),
    railpack: { buildkitHost: buildkitHost || null, searchPath: text('PATH', '') },
    baseImages: images('BASE_IMAGES'),
    edge,
    caddyAdminUrl,
    edgeTls:
      certificates === 'off'
        ? null
        : { certificates, port: edgeTlsPort, email: acmeEmail || null, authority: acmeAuthority || null },
    secretsKey: secrets.current,
    previousSecretsKeys: secrets.previous,
    allowLocalRepositories: flag('ALLOW_LOCAL_REPOSITORIES', false),
    dashboard: dashboardUser === '' ? null : { user: dashboardUser, password: new Sensitive(dashboardPassword) },
    mail: smtpUrl === '' ? null : { smtpUrl: new Sensitive(smtpUrl), from: mailFrom },
    publicUrl,
    trustProxy: flag('TRUST_PROXY', false),
    logLevel: choice('LOG_LEVEL', ['fatal', 'error', 'warn', 'info', 'debug', 'trace', 'silent'], 'info'),
    hostingEnabled: flag('HOSTING_ENABLED', true),
    rateLimits: {
      readsPerMinute: integer('RATE_LIMIT_READS_PER_MINUTE', 600, 1, 1_000_000),
      writesPerMinute: integer('RATE_LIMIT_WRITES_PER_MINUTE', 120, 1, 1_000_000),
    },
    workerConcurrency: integer('WORKER_CONCURRENCY', 4, 1, 256),
    buildEnvironment: pick(env, text('BUILD_ENV', BUILD_ENVIRONMENT_DEFAULT.join(',')).split(',')),
    releaseTimeoutSeconds: integer('RELEASE_TIMEOUT_SECONDS', 60, 1, 3600),
    stopGraceSeconds: integer('STOP_GRACE_SECONDS', 10, 1, 600),
    runtimePorts: portRange('RUNTIME_PORTS', '20000-29999'),
  };
  if (config.edgeTls?.port === config.edgePort) {
    problems.push('EDGE_TLS_PORT must differ from EDGE_PORT, which leads there from HTTP');
  }
  if (problems.length > 0) throw new ConfigError(problems);
  return config;
}

function readSecretsKeys(env: Environment, current: string) {
  const previous = (env.SECRETS_KEY_PREVIOUS ?? '')
    .split(',')
    .flatMap((key) => (key.trim() === '' ? [] : [key.trim()]));
  const isKey = (key: string) => Buffer.from(key, 'base64').length === 32;
  const problems: string[] = [];
  if (current !== '' && !isKey(current)) problems.push('SECRETS_KEY must be base64 of exactly 32 bytes');
  if (!previous.every(isKey))
    problems.push('SECRETS_KEY_PREVIOUS must be a comma list of keys, each base64 of 32 bytes');
  return { current: new Sensitive(current), previous: previous.map((key) => new Sensitive(key)), problems };
}

function pick(env: Environment, names: string[]): Record<string, string> {
  const found: Record<string, string> = {};
  for (const name of names.map((n) => n.trim())) {
    const value = env[name];
    if (value !== undefined && value !== '') found[name] = value;
  }
  return found;
}

type EdgeAddress = Pick<Config, 'edgeDomain' | 'edgePort' | 'edgeTls'>;

/** The address a service answers at (design, Commands). */
export function serviceUrl(config: EdgeAddress, slug: string): string {
  return edgeUrl(config, `${slug}.${config.edgeDomain}`);
}

/** The address of the edge under this host name. */
export function edgeUrl({ edgePort, edgeTls }: Pick<EdgeAddress, 'edgePort' | 'edgeTls'>, host: string): string {
  const [scheme, port, usual] = edgeTls === null ? ['http', edgePort, 80] : ['https', edgeTls.port, 443];
  return `${scheme}://${host}${port === usual ? '' : `:${port}`}`;
}

/** The keys alone, for the command that rotates them; `kept` is the one in DATA_DIR. Throws `ConfigError`. */
export function loadSecretsKeys(
  kept: string | null,
  env: Environment = process.env,
): { current: Sensitive; previous: Sensitive[] } {
  const current = env.SECRETS_KEY || kept || '';
  const { problems, ...keys } = readSecretsKeys(env, current);
  if (current === '') problems.push('SECRETS_KEY is not set, and DATA_DIR holds none');
  if (problems.length > 0) throw new ConfigError(problems);
  return keys;
}

/** What the admin command line needs of the environment: a database, or the folder of an embedded one. */
export function loadDatabaseSettings(env: Environment = process.env): { databaseUrl: string | null; dataDir: string } {
  return { databaseUrl: env.DATABASE_URL || null, dataDir: resolve(env.DATA_DIR || '.data') };
}
