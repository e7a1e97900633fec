import { isIpRange } from '../string-formats.js';
import {
  choice,
  flag,
  integer,
  type Kind,
  list,
  lowerCase,
  optional,
  secret,
  setting,
  settingsOf,
  text,
  urlOf,
} from './setting.js';

/** Default base images. `auto` is for compiled programs, and for projects of an unknown language. */
const BASE_IMAGES: Readonly<Record<string, string>> = {
  node: 'node:22-bookworm-slim',
  python: 'python:3.13-slim-bookworm',
  go: 'golang:1.25-bookworm',
  auto: 'buildpack-deps:bookworm-curl',
};

const BUILD_ENVIRONMENT = [
  'HTTP_PROXY,HTTPS_PROXY,NO_PROXY,http_proxy,https_proxy,no_proxy,NODE_EXTRA_CA_CERTS,SSL_CERT_FILE,SSL_CERT_DIR',
  'npm_config_registry,NPM_CONFIG_REGISTRY,npm_config_cafile,PIP_INDEX_URL,PIP_EXTRA_INDEX_URL,PIP_CERT',
  'UV_INDEX_URL,UV_DEFAULT_INDEX,GOPROXY,GOSUMDB,GONOSUMDB,HEX_MIRROR,HEX_CACERTS_PATH,RUSTUP_DIST_SERVER',
  'RUSTUP_UPDATE_ROOT,MAVEN_ARGS,GRADLE_OPTS,NUGET_CERT_REVOCATION_MODE,BUNDLE_MIRROR__*,BUNDLE_SSL_CA_CERT',
  'CARGO_*,COMPOSER_*,MISE_*',
];

const SLUG = {
  valid: (name: string) => /^[a-z0-9](-?[a-z0-9])*$/.test(name),
  problem: 'must be a comma list of names such as shop,my-blog',
};
const IPV4_RANGE = {
  valid: (range: string) => /^[\d.]+(\/\d+)?$/.test(range) && isIpRange(range),
  problem: 'must be a comma list of IPv4 addresses and ranges such as 10.1.2.0/24,192.168.7.1',
};
const DOCKER_ADDRESS = {
  valid: isSocketAddress,
  problem: 'must be unix:///path/to/docker.sock or tcp://host:port',
};

const IMAGE = {
  valid: (name: string) => /^[a-z0-9][!-~]*$/.test(name),
  problem: 'must be the name of an image such as registry.example.com/postgres:{version}',
};

/**
 * Returns true for `unix:///path` and `tcp://host:port`. A sandbox cannot use the other addresses that Docker clients
 * accept, such as `ssh://`.
 */
export function isSocketAddress(given: string): boolean {
  return /^unix:\/\/\/.|^tcp:\/\/[^/:]+:\d+\/?$/.test(given);
}

const worker = settingsOf('worker');
const apiAndWorker = settingsOf('api', 'worker');

export const HOSTING_SETTINGS = {
  HOSTING_ENABLED: apiAndWorker(flag(true), 'If `false`, no deployment and no action can be queued.'),
  ALLOW_LOCAL_REPOSITORIES: apiAndWorker(
    flag(false),
    'Accepts `file:` repositories and private addresses.',
    '`true` with `npm start`, else `false`',
  ),
  RESERVED_SLUGS: apiAndWorker(
    lowerCase(list('', SLUG)),
    'Names that no service gets as its host name, separated by commas, in addition to the built-in ones (`www`, `api`, `admin`, `mail`, `wpad`, …).',
  ),
  WORKER_CONCURRENCY: worker(integer(4, 1, 256), 'Deployments that one worker process runs at a time.'),
  RUN_CONCURRENCY: worker(
    integer(16, 1, 256),
    'Runs of cron services that one worker process carries out at a time. One workspace gets at most half of the slots of all workers.',
  ),
  RUN_RETRY_SECONDS: worker(
    integer(5, 1, 3600),
    'Seconds before the second attempt of a run that failed; twice as many before each further one.',
  ),
  RELEASE_TIMEOUT_SECONDS: worker(integer(60, 1, 3600), 'Seconds that a release may take to become healthy.'),
  HEALTH_REPLACE_SECONDS: worker(
    integer(60, 1, 3600),
    'Seconds for which a replica may fail its health check before a new one takes its place. The wait doubles each time that does not help.',
  ),
  METRICS_SECONDS: setting(
    integer(15, 1, 15),
    ['worker', 'edge'],
    'Seconds between two measurements of a replica, two reports of an edge, and two decisions of automatic scaling.',
  ),
  SCALING_QUIET_SECONDS: worker(
    integer(300, 1, 3600),
    'Automatic scaling takes a replica away if fewer sufficed for this many seconds.',
  ),
  SCALING_READY_SECONDS: worker(
    integer(30, 0, 600),
    'Seconds after which automatic scaling counts what a new replica uses: starting often needs more.',
  ),
  SLEEP_SECONDS: worker(
    integer(900, 1, 86_400),
    'Seconds without a visitor after which a web service with `minReplicas` 0 falls asleep.',
  ),
  FROZEN_SECONDS: worker(
    integer(3_600, 0, 604_800),
    'Seconds for which the replicas of a sleeping service are frozen before they end. With 0, and in a swarm, they end at once.',
  ),
  STOP_GRACE_SECONDS: worker(integer(10, 1, 600), 'Seconds between TERM and KILL.'),
  RUNTIME: apiAndWorker(
    choice(['process', 'swarm'], 'process'),
    '`swarm` runs releases as services of a Docker Swarm.',
  ),
  RUNTIME_PORTS: worker(
    portRange('20000-29999'),
    'First and last port for hosted processes. Keep them apart from `net.ipv4.ip_local_port_range`.',
  ),
  NETWORK: worker(
    choice(['auto', 'namespaces', 'rootless', 'shared'], 'auto'),
    'For `RUNTIME=process`: `auto` gives each build and each replica a network of its own if the host allows it, and otherwise all use the network of the host, with the reason in the log. With `namespaces`, or `rootless` for a platform that is not root, a worker does not start if the host does not allow it. With `shared` all use the network of the host, see [security](../security.md#networks).',
  ),
  ISOLATION: worker(
    choice(['auto', 'required'], 'auto'),
    'For `RUNTIME=process`: with `auto` hosted code is isolated as well as the host allows, and the log says how. With `required` a worker does not start unless hosted code runs in OCI containers, see [security](../security.md#what-each-isolation-level-promises).',
  ),
  OCI_RUNTIME: worker(
    choice(['auto', 'runc', 'crun', 'runsc'], 'auto'),
    'The OCI runtime of hosted code. `auto` takes the first of `runc` and `crun` that passes a trial at the start of the worker. With another value a worker does not start unless that program is installed and passes.',
  ),
  EGRESS_ALLOW: worker(
    list('', IPV4_RANGE),
    'Private addresses that builds and applications with a network of their own may connect to, as IPv4 ranges separated by commas, for example `10.1.2.0/24,192.168.7.1`.',
  ),
  RUNTIME_FIREWALL: worker(
    flag(true),
    'If `false`, the worker sets no nftables rules, see [security](../security.md#hosted-ports).',
  ),
  BUILD_ENV: worker(
    list(BUILD_ENVIRONMENT.join(',')),
    "Names of the platform's variables that builds may see, separated by commas. `MISE_*` names all that begin so, except those that end with `_HOME`, `_DIR` or `_TOKEN`.",
    'proxies, registries, mirrors, certificate bundles',
  ),
  DOCKER_HOST: worker(
    text('unix:///var/run/docker.sock', DOCKER_ADDRESS),
    "For `RUNTIME=swarm`: the Docker engine of a manager, as `unix://` or `tcp://host:port`. With `tcp://`, `DOCKER_TLS_VERIFY` and `DOCKER_CERT_PATH` count as for Docker's own client.",
  ),
  REGISTRY_URL: worker(
    secret(optional(urlOf('https?', 'must be an address such as https://user:password@registry.example.com/prefix'))),
    '`https://user:password@host/prefix`: the registry from which the nodes of a swarm get images. A swarm of one node needs none.',
  ),
  BASE_IMAGES: worker(
    baseImages(),
    '`node=…,python=…,go=…,auto=…`: the images that generated Dockerfiles begin with. `auto` runs programs that need no language, and compiled ones.',
    "Docker Hub's official images",
  ),
  POSTGRES_IMAGE: worker(
    text('postgres:{version}', IMAGE),
    'For `RUNTIME=swarm`: the image of services of kind `postgres`; `{version}` stands for the major version. It has to be made as the official one is.',
  ),
  REDIS_IMAGE: worker(
    text('redis:8', IMAGE),
    'For `RUNTIME=swarm`: the image of services of kind `redis`, with `redis-server` or `valkey-server`, for example `valkey/valkey:9`.',
  ),
  BUILDKIT_HOST: worker(
    optional(),
    'For `RUNTIME=swarm`: the BuildKit that Railpack builds with, `unix:///run/buildkit/buildkitd.sock` or `tcp://host:port`. A worker that has this variable but does not find the `railpack` program on its `PATH` refuses to start.',
  ),
  PATH: worker(text(''), 'The folders in which the `railpack` program is looked for.', "the system's"),
};

/** Parses `runtime=image` pairs. A runtime that is not given has its default image. */
function baseImages(): Kind<Record<string, string>> {
  const parse: Kind<Record<string, string>>['parse'] = (text, report) => {
    const given: Record<string, string> = {};
    for (const pair of text.split(',')) {
      const [runtime = '', image = ''] = pair.split('=').map((part) => part.trim());
      if (runtime === '' && image === '') continue;
      if (!Object.hasOwn(BASE_IMAGES, runtime) || !/^[!-~]+$/.test(image)) {
        report(`must be a comma list such as node=node:22, of ${Object.keys(BASE_IMAGES).join(', ')}`);
      }
      given[runtime] = image;
    }
    return { ...BASE_IMAGES, ...given };
  };
  return { fallback: '', secret: false, parse };
}

function portRange(fallback: string): Kind<{ first: number; last: number }> {
  const parse: Kind<{ first: number; last: number }>['parse'] = (text, report) => {
    const match = /^(\d+)-(\d+)$/.exec(text);
    const first = Number(match?.[1]);
    const last = Number(match?.[2]);
    if (!match || first < 1024 || last > 65_535 || last - first < 10) {
      report('must be a port range such as 20000-29999', text);
    }
    return { first, last };
  };
  return { fallback, secret: false, parse };
}
