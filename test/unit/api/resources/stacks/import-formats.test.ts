import { expect } from 'chai';
import fc from 'fast-check';
import { stringify as toToml } from 'smol-toml';
import { parse, stringify } from 'yaml';
import {
  IMPORT_FORMATS,
  type ImportFormat,
  importFile,
} from '../../../../../api/resources/stacks/import/import-file.js';
import { AppError } from '../../../../../shared/core/error-registry.js';
import { readDocument } from '../../../../../shared/stacks/read-document.js';

const REPOSITORY = 'https://git.example.com/shop.git';
const to = (service: string, key: string) => ({ reference: { service, key } });

function imported(format: ImportFormat, text: string, repository = REPOSITORY, folder = '') {
  const found = importFile(format, text, { repository, folder, files: {} });
  readDocument(stringify(found.document), []);
  return found;
}

/** A file of each format that uses every field which its importer reads. */
const EXAMPLES: Readonly<Record<ImportFormat, string>> = {
  compose: `
services:
  web:
    build: { context: ./web, dockerfile: D, args: { A: "1" }, target: x }
    ports: ["80:80", { target: 90, protocol: tcp }]
    expose: ["91"]
    environment: { A: b }
    env_file: [{ path: a.env }]
    depends_on: [db]
    volumes: ["a:/a", { type: volume, source: b, target: /b, read_only: false }]
    healthcheck: { test: [CMD, curl, "http://localhost/"], disable: false }
    command: [a, b]
    entrypoint: a
    deploy: { replicas: 2, resources: { limits: { memory: 1g, cpus: "1" } } }
    scale: 1
    mem_limit: 1g
    cpus: 1
    profiles: []
  db: { image: postgres:16, environment: [POSTGRES_USER=a], command: [x], volumes: ["a:/b"] }
`,
  render: `
services:
  - type: web
    name: shop
    runtime: docker
    plan: starter
    repo: https://git.example.com/shop.git
    branch: main
    rootDir: app
    dockerfilePath: ./Dockerfile
    dockerContext: .
    dockerCommand: bin/start
    buildCommand: make
    startCommand: bin/serve
    preDeployCommand: bin/migrate
    healthCheckPath: /health
    numInstances: 2
    scaling: { minInstances: 1, maxInstances: 4, targetCPUPercent: 60, targetMemoryPercent: 70 }
    autoDeploy: true
    autoDeployTrigger: commit
    buildFilter: { paths: [app/**], ignoredPaths: [docs/**] }
    previews: { generation: manual }
    pullRequestPreviewsEnabled: true
    renderSubdomainPolicy: disabled
    maintenanceMode: { enabled: true }
    ipAllowList: [{ source: 10.0.0.0/8, description: office }]
    disk: { name: data, mountPath: /data, sizeGB: 3 }
    domain: a.example.org
    domains: [b.example.org]
    envVars:
      - { key: PORT, value: 3000 }
      - { key: LEVEL, value: info }
      - { key: DATABASE_URL, fromDatabase: { name: db, property: connectionString } }
      - { key: REDIS_HOST, fromService: { type: keyvalue, name: cache, property: host } }
      - { key: JOB_TOKEN, fromService: { type: worker, name: jobs, envVarKey: TOKEN } }
      - { key: SECRET, generateValue: true }
      - { key: API_KEY, sync: false }
      - { fromGroup: shared }
  - { type: worker, name: jobs, startCommand: bin/jobs, envVars: [{ key: TOKEN, generateValue: true }] }
  - { type: cron, name: nightly, schedule: "0 3 * * *", image: { url: busybox, creds: {} } }
  - { type: web, name: site, runtime: static, staticPublishPath: build }
  - { type: keyvalue, name: cache, maxmemoryPolicy: allkeys_lru, ipAllowList: [] }
databases:
  - { name: db, databaseName: shop, user: shop, postgresMajorVersion: "16", plan: starter }
envVarGroups:
  - { name: shared, envVars: [{ key: TZ, value: UTC }] }
projects:
  - { name: p, environments: [{ name: e, services: [], databases: [], envVarGroups: [] }] }
`,
  heroku: `{
  "name": "Shop",
  "repository": "https://git.example.com/shop.git",
  "stack": "container",
  "env": {
    "LEVEL": "info",
    "TOKEN": { "generator": "secret" },
    "KEY": { "value": "", "required": true },
    "HINT": { "required": false },
    "PORT": "8443"
  },
  "addons": ["heroku-redis:mini", { "plan": "heroku-postgresql", "as": "DB", "options": { "version": "16" } }],
  "formation": { "web": { "quantity": 2 }, "jobs": { "quantity": 1 } }
}
# How it runs
web: node server.js -p $PORT
jobs: node jobs.js
release: node migrate.js
`,
  fly: `
app = "shop"
[build]
dockerfile = "/Dockerfile.fly"
args = { RELEASE = "7" }
[deploy]
release_command = "bin/migrate"
[env]
LEVEL = "info"
PORT = "3000"
[processes]
app = "bin/serve"
jobs = "bin/jobs"
[http_service]
internal_port = 3000
min_machines_running = 1
processes = ["app"]
[[http_service.checks]]
path = "/health"
[[services]]
internal_port = 9000
processes = ["app"]
http_checks = [{ path = "/" }]
[[services.ports]]
handlers = ["tcp"]
port = 9000
[checks.alive]
path = "/alive"
[[mounts]]
source = "data"
destination = "/data"
initial_size = "3gb"
processes = ["jobs"]
[[vm]]
memory = "1gb"
cpus = 1
cpu_kind = "shared"
size = "shared-cpu-2x"
`,
  railway: `{
  "build": { "builder": "DOCKERFILE", "dockerfilePath": "D", "buildCommand": "make", "watchPatterns": ["src/**"] },
  "deploy": {
    "startCommand": "bin/serve", "preDeployCommand": ["bin/migrate"], "numReplicas": 2,
    "healthcheckPath": "/health", "cronSchedule": "0 3 * * *"
  }
}`,
  kamal: `
service: shop
image: me/shop
primary_role: web
servers:
  web: { hosts: [10.0.0.1, { 10.0.0.2: tag }], proxy: true, env: { clear: { A: b } } }
  jobs: { hosts: [10.0.0.1], cmd: bin/jobs }
proxy: { host: shop.example.org, hosts: [b.example.org], app_port: 3000, healthcheck: { path: /up } }
healthcheck: { path: /up, port: 3000 }
env:
  clear: { DB_HOST: shop-db, LEVEL: 1 }
  secret: [RAILS_MASTER_KEY]
builder: { dockerfile: D, context: ., args: { RELEASE: 7 }, target: x, secrets: [] }
volumes: []
accessories:
  db: { image: "postgres:16", port: "5432", env: { clear: { POSTGRES_USER: shop }, secret: [POSTGRES_PASSWORD] }, directories: ["data:/var/lib/postgresql/data"], volumes: [], service: shop-db, cmd: x }
`,
};

describe('A render.yaml', () => {
  it('becomes a document with its databases, groups and references', () => {
    const { document, lost } = imported('render', EXAMPLES.render);
    expect(document).to.deep.equal({
      services: {
        shop: {
          ...{ kind: 'web', port: 3000, repository: REPOSITORY, branch: 'main', rootDirectory: 'app' },
          ...{ buildMethod: 'dockerfile', dockerfilePath: './Dockerfile', dockerContext: '.', buildCommand: 'make' },
          ...{ startCommand: 'bin/start', preDeployCommand: 'bin/migrate', healthCheckPath: '/health', replicas: 2 },
          ...{ scaling: 'auto', minReplicas: 1, maxReplicas: 4, targetCpu: 60, targetMemory: 70, autoDeploy: 'commit' },
          ...{ includePaths: ['app/**'], ignorePaths: ['docs/**'], previewMode: 'manual', maintenance: true },
          ...{ platformDomainEnabled: false, plan: 'starter', ipAllowList: ['10.0.0.0/8'] },
          volumes: { data: { mountPath: '/data', sizeGb: 3 } },
          domains: ['a.example.org', 'b.example.org'],
          variables: {
            LEVEL: 'info',
            DATABASE_URL: to('db', 'URL'),
            REDIS_HOST: to('cache', 'HOST'),
            JOB_TOKEN: to('jobs', 'TOKEN'),
            SECRET: { generate: 44 },
            API_KEY: { secret: true },
          },
          groups: ['shared'],
        },
        jobs: {
          ...{ kind: 'worker', repository: REPOSITORY, startCommand: 'bin/jobs', autoDeploy: 'commit' },
          variables: { TOKEN: { generate: 44 } },
        },
        nightly: { kind: 'cron', sourceType: 'image', image: 'busybox', schedule: '0 3 * * *' },
        site: { kind: 'static', repository: REPOSITORY, publishDirectory: 'build', autoDeploy: 'commit' },
      },
      databases: {
        db: {
          ...{ kind: 'postgres', databaseName: 'shop', databaseUser: 'shop', databaseVersion: '16', plan: 'starter' },
        },
        cache: { kind: 'redis', evictionPolicy: 'allkeys-lru' },
      },
      groups: { shared: { variables: { TZ: 'UTC' } } },
    });
    expect(lost).to.deep.equal(['services.nightly.image.creds: add the registry here, and set registryId']);
  });

  it('names a volume that cannot be once', () => {
    const { document, lost } = imported(
      'render',
      'services: [{ type: worker, name: a, autoDeploy: false, disk: { name: d, mountPath: /usr/x, sizeGB: 1 } }]',
    );
    expect(document.services?.a).to.deep.equal({ kind: 'worker', repository: REPOSITORY, volumes: {} });
    expect(lost).to.deep.equal(['services.a.volumes.d.mountPath: /usr/x is in /usr, which belongs to the system']);
  });

  it('names what it cannot say, and makes secrets of references to nothing', () => {
    const { document, lost } = imported(
      'render',
      'services: [{ type: web, name: a, plan: huge, region: oregon, routes: [], envVars: [{ key: U, fromDatabase: { name: gone, property: host } }] }]',
      '',
    );
    expect(document.services?.a).to.deep.include({ variables: { U: { secret: true } } });
    expect(lost.map((line) => line.split(':')[0])).to.deep.equal([
      ...['services.a.region', 'services.a.routes', 'services.a.repo', 'services.a.plan', 'services.a.variables.U'],
    ]);
  });
});

describe('An app.json', () => {
  it('becomes a document with the processes of the Procfile that follows it, which share a group', () => {
    const { document, lost } = imported('heroku', EXAMPLES.heroku, '');
    const source = { repository: REPOSITORY, buildMethod: 'dockerfile', groups: ['shop'] };
    expect(document).to.deep.equal({
      services: {
        shop: {
          ...{
            kind: 'web',
            startCommand: 'node server.js -p $PORT',
            preDeployCommand: 'node migrate.js',
            replicas: 2,
          },
          ...source,
        },
        'shop-jobs': { kind: 'worker', startCommand: 'node jobs.js', ...source },
      },
      databases: { redis: { kind: 'redis' }, db: { kind: 'postgres', databaseVersion: '16' } },
      groups: {
        shop: {
          variables: {
            ...{ LEVEL: 'info', TOKEN: { generate: 64 }, KEY: { secret: true } },
            ...{ REDIS_URL: to('redis', 'URL'), DB_URL: to('db', 'URL') },
          },
        },
      },
    });
    expect(lost).to.deep.equal(['env: variables that are optional and have no value are left out: HINT']);
  });

  it('may lack its Procfile, or be one', () => {
    expect(imported('heroku', '{ "name": "Blog", "addons": ["mongolab"] }')).to.deep.equal({
      document: { services: { blog: { kind: 'web', repository: REPOSITORY } } },
      lost: ['addons: mongolab has no counterpart: give its variables by hand'],
      notes: [],
    });
    expect(imported('heroku', 'web: npm start\nclock: npm run clock\n').document.services).to.deep.equal({
      shop: { kind: 'web', repository: REPOSITORY, startCommand: 'npm start' },
      'shop-clock': { kind: 'worker', repository: REPOSITORY, startCommand: 'npm run clock' },
    });
  });
});

describe('A fly.toml', () => {
  it('becomes a document with its processes, ports and volumes', () => {
    const { document, lost } = imported('fly', EXAMPLES.fly);
    const source = { repository: REPOSITORY, buildMethod: 'dockerfile', dockerfilePath: 'Dockerfile.fly' };
    expect(document).to.deep.equal({
      services: {
        shop: {
          ...{ kind: 'web', port: 3000, healthCheckPath: '/health', ...source, plan: 'starter', groups: ['shop'] },
          ...{ startCommand: 'bin/serve', preDeployCommand: 'bin/migrate' },
        },
        'shop-jobs': {
          ...{ kind: 'worker', ...source, startCommand: 'bin/jobs', plan: 'starter', groups: ['shop'] },
          volumes: { data: { mountPath: '/data', sizeGb: 3 } },
        },
      },
      groups: { shop: { variables: { RELEASE: '7', LEVEL: 'info' } } },
    });
    expect(lost).to.deep.equal([
      'services: only one port of app has an address; without one: 9000',
      'mounts: data becomes a volume, which is empty',
    ]);
  });

  it('of an image has one service', () => {
    const { document } = imported(
      'fly',
      `app = "a"\n[build]\nimage = "redis:7"\n[[services]]\ninternal_port = 6379\nports = [{ port = 6379 }]\n`,
    );
    expect(document.services).to.deep.equal({
      a: { kind: 'private', port: 6379, sourceType: 'image', image: 'redis:7' },
    });
  });
});

describe('A railway.json', () => {
  const entry = {
    ...{ kind: 'cron', repository: REPOSITORY, buildMethod: 'dockerfile', dockerfilePath: 'D', buildCommand: 'make' },
    ...{ includePaths: ['src/**'], startCommand: 'bin/serve', preDeployCommand: 'bin/migrate', replicas: 2 },
    ...{ healthCheckPath: '/health', schedule: '0 3 * * *' },
  };

  it('becomes a document with one service, which is named after the repository', () => {
    expect(imported('railway', EXAMPLES.railway)).to.deep.equal({
      document: { services: { shop: entry } },
      lost: [],
      notes: [],
    });
  });

  it('may be a railway.toml', () => {
    const text = toToml(parse(EXAMPLES.railway) as Record<string, unknown>);
    expect(imported('railway', text).document).to.deep.equal({ services: { shop: entry } });
    expect(imported('railway', '[build]\nbuilder = "NIXPACKS"\n')).to.deep.equal({
      document: { services: { shop: { kind: 'web', repository: REPOSITORY } } },
      lost: ['deploy: does not say whether the service has visitors: it becomes a web service'],
      notes: [],
    });
  });
});

describe("Kamal's deploy.yml", () => {
  it('becomes a document with its roles, accessories and domains', () => {
    const { document, lost } = imported('kamal', EXAMPLES.kamal);
    const source = { repository: REPOSITORY, buildMethod: 'dockerfile', dockerfilePath: 'D' };
    const variables = { RELEASE: '7', DB_HOST: to('shop-db', 'HOST'), LEVEL: '1', RAILS_MASTER_KEY: { secret: true } };
    expect(document).to.deep.equal({
      services: {
        shop: {
          ...{ kind: 'web', port: 3000, healthCheckPath: '/up', replicas: 2, ...source },
          variables: { ...variables, A: 'b' },
          domains: ['shop.example.org', 'b.example.org'],
        },
        'shop-jobs': { kind: 'worker', startArguments: ['bin/jobs'], ...source, variables },
      },
      databases: {
        'shop-db': { kind: 'postgres', databaseVersion: '16', databaseName: 'shop', databaseUser: 'shop' },
      },
    });
    expect(lost).to.deep.equal([
      'builder.target: has no counterpart',
      'builder.secrets: has no counterpart',
      'services.shop-db.command: options of the database server are those of the platform',
    ]);
  });
});

function placesOf(value: unknown, at: readonly (string | number)[] = []): (string | number)[][] {
  const inside = Array.isArray(value)
    ? value.flatMap((each, index) => placesOf(each, [...at, index]))
    : typeof value === 'object' && value !== null
      ? Object.entries(value).flatMap(([key, each]) => placesOf(each, [...at, key]))
      : [];
  return [[...at], ...inside];
}

function replaced(value: unknown, [first, ...rest]: readonly (string | number)[], by: unknown): unknown {
  if (first === undefined) return by;
  const copy = structuredClone(value) as Record<string | number, unknown>;
  copy[first] = replaced(copy[first], rest, by);
  return copy;
}

describe('A file of another format', () => {
  const WRONG: unknown[] = [null, -1.5, true, '__proto__', [], ['x', 7, null, {}], { toString: 7, x: { y: 7 } }];
  const hostile = (format: ImportFormat) => {
    const [json = '', procfile = ''] = EXAMPLES[format].split('# How it runs\n');
    const value: unknown = format === 'fly' ? undefined : parse(json);
    return { value, procfile };
  };

  for (const format of IMPORT_FORMATS) {
    it(`(${format}) with a wrong value in any place becomes a valid document`, function () {
      this.timeout(60_000);
      const { value, procfile } = hostile(format);
      const source = value ?? FLY;
      for (const place of placesOf(source)) {
        for (const wrong of WRONG) {
          const changed = replaced(source, place, wrong);
          // A TOML file is always a table.
          if (['fly', 'railway'].includes(format) && place.length === 0) continue;
          const text =
            format === 'fly' ? tomlOf(changed) : `${JSON.stringify(changed)}${procfile === '' ? '' : `\n${procfile}`}`;
          // `fitDocument` ends only if every remaining value conforms to the document's schema.
          if (text !== null) importFile(format, text, { repository: REPOSITORY, folder: '', files: {} });
        }
      }
    });
  }

  it('of any form becomes a valid document', () => {
    const keys = fc.constantFrom(
      ...['services', 'env', 'build', 'deploy', 'servers', 'addons', 'mounts', 'vm', 'processes'],
    );
    const values = fc.anything({ maxDepth: 3 }).map((value) => JSON.parse(JSON.stringify(value ?? null)) as unknown);
    fc.assert(
      fc.property(fc.constantFrom(...IMPORT_FORMATS), fc.dictionary(keys, values), (format, value) => {
        if (format !== 'fly') imported(format, JSON.stringify(value));
      }),
    );
  });

  it('in a folder of the repository is built from this folder', () => {
    const texts = { fly: 'app = "a"', heroku: '{"name":"a"}', railway: '{}', kamal: 'service: a' };
    for (const [format, text] of Object.entries(texts)) {
      const folder = format === 'kamal' ? 'apps/a/config' : 'apps/a';
      const { document } = imported(format as ImportFormat, text, REPOSITORY, folder);
      expect(Object.values(document.services ?? {})[0]?.rootDirectory, format).to.equal('apps/a');
    }
  });

  it('that is not of its format is refused with the line of the fault', () => {
    const refusal = (format: ImportFormat, text: string) => {
      try {
        imported(format, text);
        return '';
      } catch (error) {
        if (!(error instanceof AppError)) throw error;
        return `${error.code}: ${error.message}`;
      }
    };
    expect(refusal('fly', 'app = "a"\n[build\n')).to.match(
      /^invalid_request: The file is not valid: line 2, column \d+: /,
    );
    expect(refusal('railway', '{\n"a": [\n')).to.match(
      /^invalid_request: The file is not valid: line \d, column \d+: /,
    );
    expect(refusal('heroku', '{ "a": "b", "a": 1 }')).to.contain('is given twice');
    expect(refusal('render', 'a: &a [*a]')).to.contain('stands inside of its own anchor');
    expect(refusal('kamal', 'x'.repeat(1_000_001))).to.match(/^payload_too_large/);
    for (const bomb of [
      '['.repeat(100_000),
      'a.'.repeat(100_000),
      `a = ${'['.repeat(100_000)}`,
      `a = ${'{a='.repeat(50_000)}`,
    ]) {
      for (const format of IMPORT_FORMATS) expect(refusal(format, bomb), format).to.match(/^invalid_request|^$/);
    }
  });

  it('that is hostile is read in a time that grows with its length', () => {
    const started = process.cpuUsage();
    const many = (count: number, line: (index: number) => string) =>
      Array.from({ length: count }, (_, i) => line(i)).join('\n');
    imported('fly', `app = "a"\n[processes]\n${many(20_000, (index) => `p${index} = "x"`)}`);
    const [processes, mounts] = [many(400, (index) => `p${index} = "x"`), many(400, () => '[[mounts]]\nsource = "x"')];
    imported('fly', `app = "a"\n[processes]\n${processes}\n${mounts}`);
    imported('fly', `app = "${'a-'.repeat(200_000)}"\n[env]\n${many(20_000, (index) => `E${index} = "x"`)}`);
    imported(
      'heroku',
      many(20_000, (index) => `p${index}: x${' '.repeat(20)}`),
    );
    imported('render', `services:\n${many(5000, (index) => `- { name: s${index}, type: x, replicas: x }`)}`);
    const { lost } = imported(
      'render',
      `services:\n${many(5000, (index) => `- { name: s${index}, type: web, image: { url: a }, x: 1 }`)}`,
    );
    expect(lost).to.have.length(1001);
    expect(lost.at(-1)).to.equal('4001 more lines are left out');
    imported('kamal', `servers:\n${many(5000, (index) => `  s${index}: { cmd: x }`)}`);
    expect(process.cpuUsage(started).user / 1e6).to.be.lessThan(30);
  });
});

const FLY = {
  ...{ app: 'shop', build: { dockerfile: 'D', args: { A: '7' } }, deploy: { release_command: 'x' } },
  ...{ env: { LEVEL: 'info', PORT: '3000' }, processes: { app: 'bin/serve', jobs: 'bin/jobs' } },
  http_service: { internal_port: 3000, min_machines_running: 1, processes: ['app'], checks: [{ path: '/health' }] },
  services: [
    { internal_port: 9000, processes: ['app'], http_checks: [{ path: '/' }], ports: [{ handlers: ['http'] }] },
  ],
  checks: { alive: { path: '/alive' } },
  mounts: [{ source: 'data', destination: '/data', initial_size: '3gb', size_gb: 3, processes: ['jobs'] }],
  vm: [{ memory: '1gb', memory_mb: 512, cpus: 1, cpu_kind: 'shared', size: 'shared-cpu-2x' }],
};

function tomlOf(value: unknown): string | null {
  try {
    return toToml(value as Record<string, unknown>);
  } catch {
    return null;
  }
}
