import { join, resolve } from 'node:path';
import type { Sensitive } from './sensitive.js';
import { SETTINGS, type SettingName, type Values } from './settings/all-settings.js';
import { isSocketAddress } from './settings/hosting-settings.js';
import type { Report, Setting } from './settings/setting.js';

export type Config = ReturnType<typeof assemble>;

/** Lists all problems with the environment variables. Each problem names its variable and how to fix it. */
export class ConfigError extends Error {
  readonly problems: string[];
  constructor(problems: string[]) {
    super(`The configuration is not usable:\n${problems.map((p) => `  - ${p}`).join('\n')}`);
    this.name = 'ConfigError';
    this.problems = problems;
  }
}

export type Environment = Readonly<Record<string, string | undefined>>;

/** Reads and validates the environment variables. Throws `ConfigError` with every problem found. */
export function loadConfig(env: Environment = process.env): Config {
  const problems: string[] = [];
  const names = Object.keys(SETTINGS) as SettingName[];
  const values = Object.fromEntries(names.map((name) => [name, read(name, env, problems)])) as Values;
  const config = assemble(values, env);
  problems.push(...conflicts(values, config));
  if (problems.length > 0) throw new ConfigError(problems);
  return config;
}

/**
 * Returns only the encryption keys, for the key rotation command. Throws `ConfigError`. `kept` is the key stored in
 * DATA_DIR.
 */
export function loadSecretsKeys(
  kept: string | null,
  env: Environment = process.env,
): { current: Sensitive; previous: Sensitive[] } {
  const problems: string[] = [];
  const current = read('SECRETS_KEY', { SECRETS_KEY: env.SECRETS_KEY || kept || '' }, problems);
  const previous = read('SECRETS_KEY_PREVIOUS', env, problems);
  if (current.reveal() === '') problems.push('DATA_DIR holds no key either');
  if (problems.length > 0) throw new ConfigError(problems);
  return { current, previous };
}

/** Returns the settings of the admin command line. A null `databaseUrl` means the embedded database in `dataDir`. */
export function loadDatabaseSettings(env: Environment = process.env): { databaseUrl: string | null; dataDir: string } {
  return { databaseUrl: env.DATABASE_URL || null, dataDir: resolve(env.DATA_DIR || SETTINGS.DATA_DIR.kind.fallback) };
}

function read<Name extends SettingName>(name: Name, env: Environment, problems: string[]): Values[Name] {
  const { kind }: Setting<unknown> = SETTINGS[name];
  const report: Report = (problem, given) => {
    problems.push(`${name} ${problem}${given === undefined || kind.secret ? '' : `, not "${given}"`}`);
  };
  return kind.parse(env[name] || kind.fallback, report) as Values[Name];
}

function assemble(values: Values, env: Environment) {
  const dataDir = resolve(values.DATA_DIR);
  const { EDGE_TLS: certificates, DASHBOARD_USER: user, DASHBOARD_PASSWORD: password } = values;
  const { SMTP_URL: smtpUrl, MAIL_FROM: from } = values;
  const { OIDC_ISSUER: issuer, OIDC_CLIENT_ID: clientId, OIDC_CLIENT_SECRET: clientSecret } = values;
  return {
    port: values.PORT,
    /** The socket that systemd opened for this process, if any. */
    listenDescriptor: env.LISTEN_FDS === '1' && env.LISTEN_PID === String(process.pid) ? 3 : null,
    apiAddress: values.API_ADDRESS,
    apiHosts: values.API_HOSTS,
    publicUrl: (values.PUBLIC_URL ?? `http://localhost:${values.PORT}`).replace(/\/+$/, ''),
    /** The URL at which other hosts reach this API. If null, the platform detects the URL. */
    internalUrl: values.INTERNAL_URL?.replace(/\/+$/, '') ?? null,
    trustProxy: values.TRUST_PROXY,
    rateLimits: {
      readsPerMinute: values.RATE_LIMIT_READS_PER_MINUTE,
      writesPerMinute: values.RATE_LIMIT_WRITES_PER_MINUTE,
    },
    pushMaxBytes: values.PUSH_MAX_MB * 1024 ** 2,
    dashboard: user === null || password === null ? null : { user, password },
    metricsToken: values.METRICS_TOKEN,
    metricsServices: values.METRICS_SERVICES,
    mail: smtpUrl === null || from === null ? null : { smtpUrl, from },
    oidc:
      issuer === null || clientId === null || clientSecret === null || !URL.canParse(issuer)
        ? null
        : {
            issuer,
            clientId,
            clientSecret,
            name: values.OIDC_NAME ?? new URL(issuer).host,
            scopes: values.OIDC_SCOPES,
          },

    edgePort: values.EDGE_PORT,
    edgeDomain: values.EDGE_DOMAIN,
    edge: values.EDGE,
    edgeLimits: {
      perClient: values.EDGE_CONNECTIONS_PER_CLIENT,
      total: values.EDGE_CONNECTIONS,
      slow: values.EDGE_SLOW_CONNECTIONS,
      stallMs: 1000 * values.EDGE_STALL_SECONDS,
    },
    edgeAddresses: values.EDGE_ADDRESSES,
    dnsServers: values.DNS_SERVERS,
    edgeSocketDir: resolve(values.EDGE_SOCKET_DIR ?? join(dataDir, 'edge')),
    edgeUsers: values.EDGE_USERS,
    edgeTls:
      certificates === 'off'
        ? null
        : {
            certificates,
            port: values.EDGE_TLS_PORT,
            email: values.ACME_EMAIL,
            authority: values.ACME_CA,
            authorityRoot: values.ACME_CA_ROOT,
          },
    caddyAdminUrl: values.CADDY_ADMIN_URL,

    dataDir,
    databaseUrl: values.DATABASE_URL,
    redisUrl: values.REDIS_URL,
    secretsKey: values.SECRETS_KEY,
    previousSecretsKeys: values.SECRETS_KEY_PREVIOUS,
    backups: {
      store: values.BACKUP_STORE,
      bucket: values.BACKUP_S3_BUCKET,
      endpoint: values.BACKUP_S3_ENDPOINT,
      region: values.BACKUP_S3_REGION,
      accessKeyId: values.BACKUP_S3_ACCESS_KEY_ID,
      secretAccessKey: values.BACKUP_S3_SECRET_ACCESS_KEY,
      prefix: values.BACKUP_S3_PREFIX,
    },
    logLevel: values.LOG_LEVEL,

    hostingEnabled: values.HOSTING_ENABLED,
    allowLocalRepositories: values.ALLOW_LOCAL_REPOSITORIES,
    reservedSlugs: values.RESERVED_SLUGS,
    workerConcurrency: values.WORKER_CONCURRENCY,
    runConcurrency: values.RUN_CONCURRENCY,
    runRetrySeconds: values.RUN_RETRY_SECONDS,
    releaseTimeoutSeconds: values.RELEASE_TIMEOUT_SECONDS,
    healthReplaceSeconds: values.HEALTH_REPLACE_SECONDS,
    metricsSeconds: values.METRICS_SECONDS,
    scalingQuietSeconds: values.SCALING_QUIET_SECONDS,
    scalingReadySeconds: values.SCALING_READY_SECONDS,
    sleepSeconds: values.SLEEP_SECONDS,
    frozenSeconds: values.FROZEN_SECONDS,
    stopGraceSeconds: values.STOP_GRACE_SECONDS,
    runtime: values.RUNTIME,
    runtimePorts: values.RUNTIME_PORTS,
    runtimeFirewall: values.RUNTIME_FIREWALL,
    network: values.NETWORK,
    isolation: values.ISOLATION,
    ociRuntime: values.OCI_RUNTIME,
    egressAllow: values.EGRESS_ALLOW,
    buildEnvironment: pick(env, values.BUILD_ENV),
    docker: { host: values.DOCKER_HOST, registryUrl: values.REGISTRY_URL },
    baseImages: values.BASE_IMAGES,
    dataImages: { postgres: values.POSTGRES_IMAGE, redis: values.REDIS_IMAGE },
    // Except with RUNTIME=swarm, BUILDKIT_HOST may be set for another tool, so it is ignored and cannot cause an error.
    railpack: { buildkitHost: values.RUNTIME === 'swarm' ? values.BUILDKIT_HOST : null, searchPath: values.PATH },
  };
}

/** Linux limits a socket's path to 107 bytes, of which `/65535.gate.sock.4194304` needs 24. */
const MAX_SOCKET_DIR_BYTES = 83;

function conflicts(values: Values, config: Config): string[] {
  const { buildkitHost } = config.railpack;
  const { edge, edgeTls, edgeSocketDir } = config;
  const rules: [broken: boolean, problem: string][] = [
    [
      buildkitHost !== null && !isSocketAddress(buildkitHost),
      `BUILDKIT_HOST must be unix:///path/to/buildkitd.sock or tcp://host:port, not "${buildkitHost}"`,
    ],
    [
      (values.DASHBOARD_USER === null) !== (values.DASHBOARD_PASSWORD === null),
      'DASHBOARD_USER and DASHBOARD_PASSWORD must be set together',
    ],
    [
      values.BACKUP_STORE === 's3' && values.BACKUP_S3_BUCKET === null,
      'BACKUP_STORE=s3 needs BACKUP_S3_BUCKET, the name of the bucket',
    ],
    [
      (values.BACKUP_S3_ACCESS_KEY_ID === null) !== (values.BACKUP_S3_SECRET_ACCESS_KEY === null),
      'BACKUP_S3_ACCESS_KEY_ID and BACKUP_S3_SECRET_ACCESS_KEY must be set together',
    ],
    [(values.SMTP_URL === null) !== (values.MAIL_FROM === null), 'SMTP_URL and MAIL_FROM must be set together'],
    [
      new Set([values.OIDC_ISSUER, values.OIDC_CLIENT_ID, values.OIDC_CLIENT_SECRET].map((value) => value === null))
        .size > 1,
      'OIDC_ISSUER, OIDC_CLIENT_ID and OIDC_CLIENT_SECRET must be set together',
    ],
    [values.OIDC_NAME !== null && values.OIDC_ISSUER === null, 'OIDC_NAME needs OIDC_ISSUER, the provider it names'],
    [
      edge === 'caddy' && Buffer.byteLength(edgeSocketDir) > MAX_SOCKET_DIR_BYTES,
      `EDGE_SOCKET_DIR must have a path of at most ${MAX_SOCKET_DIR_BYTES} bytes, for Unix sockets; without it, it is the folder edge in DATA_DIR (${edgeSocketDir})`,
    ],
    [
      edgeTls !== null && edge !== 'caddy',
      `EDGE_TLS=${edgeTls?.certificates} needs EDGE=caddy; the node edge serves HTTP, behind a TLS proxy of yours`,
    ],
    [edgeTls?.port === config.edgePort, 'EDGE_TLS_PORT must differ from EDGE_PORT, which leads there from HTTP'],
  ];
  return rules.flatMap(([broken, problem]) => (broken ? [problem] : []));
}

function pick(env: Environment, patterns: readonly string[]): Record<string, string> {
  const names = new Set(patterns);
  const beginnings = patterns.filter((name) => name.endsWith('*')).map((name) => name.slice(0, -1));
  const isPicked = (name: string) =>
    names.has(name) || (!NOT_OF_MIRRORS.test(name) && beginnings.some((beginning) => name.startsWith(beginning)));
  return Object.fromEntries(
    Object.entries(env).filter((entry): entry is [string, string] => Boolean(entry[1]) && isPicked(entry[0])),
  );
}

/**
 * Matches the names of variables for folders of the platform's host, and for tokens that publish packages. A setting
 * such as `CARGO_*` does not include these variables.
 */
const NOT_OF_MIRRORS = /_(HOME|DIR|TOKEN)$/;

type EdgeAddress = Pick<Config, 'edgeDomain' | 'edgePort' | 'edgeTls'>;

export function serviceUrl(config: EdgeAddress, slug: string): string {
  return edgeUrl(config, `${slug}.${config.edgeDomain}`);
}

export function edgeUrl({ edgePort, edgeTls }: Pick<EdgeAddress, 'edgePort' | 'edgeTls'>, host: string): string {
  const [scheme, port, usual] = edgeTls === null ? ['http', edgePort, 80] : ['https', edgeTls.port, 443];
  return `${scheme}://${host}${port === usual ? '' : `:${port}`}`;
}
