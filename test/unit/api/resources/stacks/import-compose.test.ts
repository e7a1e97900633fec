import { expect } from 'chai';
import fc from 'fast-check';
import { parse, stringify } from 'yaml';
import { importCompose } from '../../../../../api/resources/stacks/import/import-compose.js';
import { readDocument } from '../../../../../shared/stacks/read-document.js';

const REPOSITORY = 'https://git.example.com/shop.git';

function imported(text: string, files: Record<string, string> = {}, repository = REPOSITORY, folder = '') {
  const lost: string[] = [];
  const notes: string[] = [];
  const document = importCompose(parse(text, { merge: true }), { repository, folder, files }, (place, reason, kind) => {
    (kind === 'note' ? notes : lost).push(`${place}: ${reason}`);
  });
  readDocument(stringify(document), []);
  return { document, lost, notes };
}

const ignore = () => undefined;

const service = (lines: string, files?: Record<string, string>) => {
  const { document, ...said } = imported(`services:\n  app:\n${lines.replace(/^/gm, '    ')}`, files);
  return { entry: document.services?.app, ...said };
};

describe('A docker-compose.yml', () => {
  it('becomes a document with its databases, and references to them', () => {
    const { document, lost } = imported(
      `
services:
  web:
    build: .
    ports: ["8080:3000"]
    depends_on: { db: { condition: service_healthy }, cache: { condition: service_started } }
    environment:
      DATABASE_URL: postgres://shop:\${DB_PASSWORD:-pass}@db:5432/store
      REDIS_URL: redis://cache:6379/0
      DB_HOST: db
      DB_USER: shop
      DB_PASSWORD: \${DB_PASSWORD:-pass}
      DB_NAME: store
      DB_PORT: 5432
      LOG_LEVEL: info
      API_KEY:
      TOKEN: \${TOKEN}
    restart: unless-stopped
    healthcheck: { test: ["CMD", "curl", "-f", "http://localhost:3000/health"] }
  worker:
    build: { context: ./jobs, dockerfile: docker/Worker.Dockerfile }
    command: ["node", "worker.js", "--name", "it's"]
    environment: ["QUEUE_URL=redis://cache:6379", "WEB=http://web:3000"]
    deploy: { replicas: 3 }
  db:
    image: postgres:16-alpine
    environment: { POSTGRES_USER: shop, POSTGRES_PASSWORD: "\${DB_PASSWORD:-pass}", POSTGRES_DB: store }
    volumes: ["data:/var/lib/postgresql/data"]
    healthcheck: { test: ["CMD-SHELL", "pg_isready"] }
  cache:
    image: redis:7
volumes: { data: {} }
`,
    );
    const to = (target: string, key: string) => ({ reference: { service: target, key } });
    expect(document).to.deep.equal({
      services: {
        web: {
          kind: 'web',
          port: 3000,
          repository: REPOSITORY,
          buildMethod: 'dockerfile',
          healthCheckPath: '/health',
          variables: {
            DATABASE_URL: to('db', 'URL'),
            REDIS_URL: to('cache', 'URL'),
            DB_HOST: to('db', 'HOST'),
            DB_USER: to('db', 'USER'),
            DB_PASSWORD: to('db', 'PASSWORD'),
            DB_NAME: to('db', 'DATABASE'),
            DB_PORT: to('db', 'PORT'),
            LOG_LEVEL: 'info',
            API_KEY: { secret: true },
            TOKEN: { secret: true },
          },
        },
        worker: {
          kind: 'worker',
          repository: REPOSITORY,
          buildMethod: 'dockerfile',
          rootDirectory: 'jobs',
          dockerfilePath: 'docker/Worker.Dockerfile',
          startArguments: ['node', 'worker.js', '--name', "it's"],
          replicas: 3,
          variables: { QUEUE_URL: to('cache', 'URL'), WEB: to('web', 'URL') },
        },
      },
      databases: {
        db: { kind: 'postgres', databaseVersion: '16', databaseName: 'store', databaseUser: 'shop' },
        cache: { kind: 'redis' },
      },
    });
    expect(lost).to.deep.equal([]);
  });

  it('tells a volume that two services share from one that a service mounts twice', () => {
    const { lost } = imported(
      'services:\n  a: { image: x, volumes: ["m:/m", "n:/a", "n:/b"] }\n  b: { image: y, volumes: ["m:/m"] }\n',
    );
    expect(lost).to.deep.equal([
      'services.a.volumes: n is mounted twice, and each place gets its own: let the service use one of them',
      'services.b.volumes: m is shared by two services, and each gets its own: let one of them serve the files to the other',
    ]);
  });

  it('keeps named volumes, and says what becomes of folders of the host', () => {
    const { entry, lost, notes } = service(
      `image: ghost:5\nports: ["2368"]\nvolumes:\n  - content:/var/lib/ghost/content\n  - ./media:/srv/media\n  - ./a.conf:/srv/a.conf\n` +
        '  - { type: tmpfs, target: /tmp/x }\n  - /anonymous\n',
    );
    expect(entry?.volumes).to.deep.equal({
      content: { mountPath: '/var/lib/ghost/content', sizeGb: 1 },
      media: { mountPath: '/srv/media', sizeGb: 1 },
      anonymous: { mountPath: '/anonymous', sizeGb: 1 },
    });
    // The smallest plan with room for both volumes.
    expect(entry?.plan).to.equal('starter');
    expect(lost).to.deep.equal([]);
    expect(notes).to.deep.equal([
      'services.app.volumes: /srv/media is the folder ./media of the host: it becomes a volume, which is empty',
      'services.app.volumes: /srv/a.conf is copied from a.conf of the repository into the image',
      'services.app.volumes: /tmp/x is an ordinary folder, and not in memory',
    ]);
    expect(entry).to.include({
      dockerfileText: 'FROM ghost:5\nCOPY ["a.conf","/srv/a.conf"]\n',
      repository: REPOSITORY,
    });
  });

  it('names each volume once, also if a later one would get the name that an earlier one has', () => {
    const { entry, lost } = service('image: a\nvolumes: ["data-3:/a", "data:/b", "/data:/c"]\n');
    expect(Object.values(entry?.volumes ?? {}).map(({ mountPath }) => mountPath)).to.deep.equal(['/a', '/b', '/c']);
    expect(lost).to.deep.equal([]);
  });

  it('reports a limit of CPU that no plan has', () => {
    const limits = (cpus: number) => `image: a\ncpus: ${cpus}\nmem_limit: 1500m\n`;
    expect(service(limits(8)).lost).to.deep.equal([]);
    const { entry, lost } = service(limits(12));
    expect(entry?.plan).to.equal('standard');
    expect(lost).to.deep.equal(['services.app: no plan has 12 CPU cores: it gets standard, which has 2']);
  });

  it('keeps folders of data of a service that is built, and no others', () => {
    const { entry, lost, notes } = service(
      'build: .\nvolumes: ["./src:/app/src", "./volumes/data:/data", "~/.cache:/root/.cache"]',
    );
    expect(Object.values(entry?.volumes ?? {}).map(({ mountPath }) => mountPath)).to.deep.equal([
      '/data',
      '/root/.cache',
    ]);
    expect(lost.map((line) => line.split(' ')[1])).to.deep.equal(['/app/src:']);
    expect(notes.map((line) => line.split(' ')[1])).to.deep.equal(['/data', '/root/.cache']);
  });

  it('leaves out what needs the socket of Docker', () => {
    const { document, lost } = imported(
      'services:\n  proxy: { image: traefik, volumes: ["/var/run/docker.sock:/var/run/docker.sock:ro"] }\n' +
        '  tool: { image: x, volumes: [{ type: bind, source: /run/docker.sock, target: /run/docker.sock }] }\n',
    );
    expect(document).to.deep.equal({});
    expect(lost.map((line) => line.split(':')[0])).to.deep.equal(['services.proxy', 'services.tool']);
  });

  it('is of the kind that its ports say', () => {
    expect(service('image: a\nports: ["80:8080", "443:8443"]').entry).to.include({ kind: 'web', port: 8080 });
    expect(service('image: a\nports: [{ target: 443 }, { target: 3000 }]').entry).to.include({
      kind: 'web',
      port: 3000,
    });
    expect(service('image: mailhog\nports: ["1025:1025", "8025:8025"]').entry).to.include({ kind: 'web', port: 8025 });
    expect(service('image: a\nports: ["53:53/udp"]').entry).to.include({ kind: 'worker' });
    expect(service('image: mysql:8\nports: ["3306:3306"]').entry).to.include({ kind: 'private', port: 3306 });
    expect(service('image: rabbitmq').entry).to.include({ kind: 'private', port: 5672 });
    expect(service('image: a\nexpose: ["9000"]').entry).to.include({ kind: 'private', port: 9000 });
    expect(service('image: a').entry).to.include({ kind: 'worker', sourceType: 'image', image: 'a' });
  });

  it('reads env files and .env, with defaults and $$', () => {
    const text = `image: "a:\${TAG:-1}"\nenv_file: [app.env, { path: ./more.env }, gone.env]\nenvironment: { A: "\${A}", B: "$$x \${C-d}" }`;
    const files = {
      '.env': 'A=from-env\nTAG=2',
      'app.env': '# x\nexport D="quoted # text"\nE=e # comment',
      'more.env': 'D=later',
    };
    const { entry, lost } = service(text, files);
    expect(entry?.image).to.equal('a:2');
    expect(entry?.variables).to.deep.equal({ D: 'later', E: 'e', A: 'from-env', B: '$x d' });
    expect(lost).to.deep.equal(['services.app.env_file: gone.env was not given: its variables are missing']);
  });

  it('names everything that it cannot say', () => {
    const { lost } = service(
      'build: { context: ../other, target: prod, args: { A: 1 } }\nprivileged: true\nsecrets: [x]\nworking_dir: /app\n' +
        'healthcheck: { test: nc -z localhost 1 }\nport_of_mine: 1\nenvironment: { "a.b": 1, U: "tcp://other:1/x" }',
    );
    expect(lost.map((line) => line.split(':')[0])).to.deep.equal([
      'services.app.environment.a.b',
      ...['services.app.privileged', 'services.app.secrets', 'services.app.working_dir', 'services.app.port_of_mine'],
      'services.app.build.context',
    ]);
    const { lost: without } = imported('services:\n  b: { build: . }\n', {}, '');
    expect(without).to.deep.equal(['services.b.build: the address of the repository is not known: set repository']);
  });

  it('loses nothing to what development needs, or what has no effect here', () => {
    const { entry, lost } = service(
      'build: { context: ./web, args: { RELEASE: 7, LEVEL: 1 } }\nports: ["80:80", "443:443"]\ncap_drop: [ALL]\n' +
        'volumes: ["./web/:/app", /app/node_modules, /etc/localtime:/etc/localtime:ro, "media:/app/media/"]\n' +
        'environment: { LEVEL: 2 }\ndeploy: { resources: { limits: { memory: 1G, cpus: "0.5" } } }',
    );
    expect(lost).to.deep.equal([]);
    expect(entry).to.deep.equal({
      ...{ kind: 'web', port: 80, repository: REPOSITORY, buildMethod: 'dockerfile', rootDirectory: 'web' },
      variables: { RELEASE: '7', LEVEL: '2' },
      volumes: { media: { mountPath: '/app/media', sizeGb: 1 } },
      // The smallest plan with 1 GB of memory.
      plan: 'starter',
    });
  });

  it('finds services by their other names', () => {
    const { document } = imported(
      'services:\n  db: { image: "postgres:16", container_name: shop-db }\n  api: { image: a, expose: [80], networks: { n: { aliases: [backend] } } }\n' +
        '  web: { image: b, environment: { U: "postgres://postgres:x@shop-db:5432/postgres", H: shop-db, A: "http://backend:80" } }\n',
    );
    const to = (target: string, key: string) => ({ reference: { service: target, key } });
    expect(document.services?.web?.variables).to.deep.equal({
      U: to('db', 'URL'),
      H: to('db', 'HOST'),
      A: to('api', 'URL'),
    });
  });

  /*
   * A line is a note, and no loss, only if `docker compose up` and this platform run the same processes with the same
   * data and give the same answers. Data on a host is always missing.
   */
  it('notes what the platform does in another way, and loses nothing by it', () => {
    const { document, lost, notes } = imported(
      `
services:
  web:
    build: { context: ., target: production }
    ports: ["80:3000", "9229:9229", "127.0.0.1:9000:9000"]
    healthcheck: { test: nc -z localhost 3000 }
    environment: { MONGO: "mongodb://mongo:27017/shop", API: "http://backend:4000/v1", DATABASE_URL: "postgres://postgres:x@db/postgres" }
    depends_on: { db: { condition: service_started }, migrate: { condition: service_completed_successfully } }
  migrate: { build: { context: ., target: production }, command: sh -c "npm run migrate" }
  api: { build: ./api, container_name: backend }
  mongo: { image: "mongo:7", ports: ["27017:27017"], command: --quiet --dbpath '/data/my db' }
  cache: { image: "redis:7" }
  jobs: { image: jobs, entrypoint: [node, jobs.js], command: [--all], depends_on: [cache] }
  proxy: { image: "nginx:1", ports: ["8080:80"], volumes: ["./nginx.conf:/etc/nginx/conf.d/default.conf:ro"] }
  db: { image: "postgres:16" }
  seed: { image: a, profiles: [seed] }
  extra: { image: b, profiles: [extra] }
`,
      { '.env': 'COMPOSE_PROFILES=extra\n' },
    );
    expect(lost).to.deep.equal([]);
    expect(notes).to.deep.equal([
      'services.migrate: is the pre-deploy command of web, and no service',
      'services.seed: is started only with the profile seed, and left out: name it in COMPOSE_PROFILES of .env',
      'services.cache: stays a service of its image: no variable of jobs has its address, so that its code has it',
      'services.web.healthcheck: is no request to a path: the service is ready when its port accepts connections',
      'services.mongo.ports: 27017 is open to its neighbours, and to you by rnv connect',
      'services.proxy.volumes: /etc/nginx/conf.d/default.conf is copied from nginx.conf of the repository into the image',
    ]);
    expect(Object.keys(document.databases ?? {})).to.deep.equal(['db']);
    const { web, api, mongo, cache, jobs, proxy } = document.services ?? {};
    expect(web).to.include({ dockerfileTarget: 'production', preDeployCommand: `sh -c 'npm run migrate'` });
    expect(web?.variables).to.deep.equal({
      MONGO: 'mongodb://mongo:27017/shop',
      // Neighbours find the service by its name, and not by that of the container.
      API: 'http://api:4000/v1',
      DATABASE_URL: { reference: { service: 'db', key: 'URL' } },
    });
    expect(api).to.include({ kind: 'private', port: 4000 });
    expect(mongo).to.deep.include({ kind: 'private', startArguments: ['--quiet', '--dbpath', '/data/my db'] });
    expect(cache).to.include({ kind: 'private', port: 6379, image: 'redis:7' });
    expect(jobs).to.include({ startCommand: 'node jobs.js --all' });
    expect(proxy).to.include({
      buildMethod: 'dockerfile',
      dockerfileText: 'FROM nginx:1\nCOPY ["nginx.conf","/etc/nginx/conf.d/default.conf"]\n',
    });
  });

  it('loses what visitors, data or code would miss', () => {
    const lostOf = (lines: string) => service(lines).lost.map((line) => line.replace('services.app', ''));
    expect(lostOf('image: a\nports: ["80", "81"]')).to.deep.equal([
      '.ports: 81 is open to its neighbours only: one HTTP port has an address',
    ]);
    expect(lostOf('image: itzg/minecraft-server\nports: ["25565:25565"]')).to.have.length(1);
    expect(lostOf('image: "a:$TAG"\ncommand: run $MODE')).to.deep.equal([
      '.image: TAG has no value: write the tag into the image',
      '.command: MODE has no value: write it into the command',
    ]);
    expect(lostOf('image: a\nvolumes: ["./conf:/etc/a:ro", "./app:/app", "data:/usr/src/data"]')).to.deep.equal([
      '.volumes: /etc/a is copied from conf of the repository into the image, over the files that are there: check that none of them is in the way',
      '.volumes: /app is the folder ./app of the host: it becomes a volume, which is empty: copy into it what the repository has there',
      '.volumes: /usr/src/data is in /usr, which belongs to the system: no volume can be there. Let the service keep its data elsewhere',
    ]);
    const { lost } = imported(
      'services:\n  db: { image: "postgres:16", environment: { POSTGRES_USER: a } }\n  cache: { image: redis }\n' +
        '  web: { image: b, environment: { A: "postgresql+asyncpg://a:b@db/shop?pool=3", B: "redis://cache/2", C: "x://a@db:1/y", D: "redis://cache:6379/0", E: "postgres://a@db/a?sslmode=disable" } }\n' +
        '  all: { image: c, profiles: [x] }\n',
    );
    expect(lost).to.deep.equal([
      'services.web.environment.A: becomes the URL of db, without +asyncpg and /shop and ?pool=3',
      'services.web.environment.B: becomes the URL of cache, without /2',
      'services.web.environment.C: has a password of db, which the platform chooses: use its URL',
    ]);
    expect(imported('services: { a: { image: x, profiles: [debug] } }').lost).to.have.length(1);
  });

  it('may lie in a folder of the repository', () => {
    const text =
      'services:\n  a: { build: . }\n  b: { build: ../.. }\n  c: { build: ../web/ }\n  d: { build: ../../.. }\n';
    const { document, lost } = imported(text, {}, REPOSITORY, 'deploy/compose');
    const folders = Object.values(document.services ?? {}).map(({ rootDirectory }) => rootDirectory);
    expect(folders).to.deep.equal(['deploy/compose', undefined, 'deploy/web', undefined]);
    expect(lost).to.deep.equal(['services.d.build.context: ../../.. is outside of the repository']);
  });

  it('says what its databases do here that they did not do there', () => {
    const { lost } = imported(
      'services:\n  db:\n    image: postgres:16\n    command: -c max_connections=500\n' +
        '    volumes: ["/srv/init.sql:/docker-entrypoint-initdb.d/init.sql"]\n',
    );
    expect(lost).to.deep.equal([
      'services.db.command: options of the database server are those of the platform',
      'services.db.volumes: scripts at the first start are not run: give them to rnv psql once',
    ]);
  });

  it('of hostile texts is read in a time that grows with their length', () => {
    const long = (part: string) => part.repeat(60_000 / part.length);
    const started = process.cpuUsage();
    const texts = [
      long(' '),
      long('1'),
      long('a-'),
      long('http://localhost/'),
      long('${'),
      long('${A:-'),
      long('@a'),
      long('$A '),
    ];
    for (const text of texts) {
      const app = {
        ...{
          image: text,
          ports: [text, `${text}x`],
          volumes: [text, `${text}:${text}`],
          command: text,
          env_file: 'a.env',
        },
        ...{ environment: { A: text, B: `${text}x` }, healthcheck: { test: text }, build: { context: text } },
      };
      importCompose(
        { services: { app, a: {} } },
        { repository: '', folder: '', files: { 'a.env': `A=x${text}y\n${text}=1` } },
        ignore,
      );
    }
    expect(process.cpuUsage(started).user / 1e6).to.be.lessThan(5);
  });

  it('of any form throws nothing', () => {
    const values = fc.oneof(fc.anything({ maxDepth: 3 }), fc.constantFrom('a:b', '80:80', null, ['x'], { path: 'y' }));
    const keys = ['image', 'build', 'ports', 'volumes', 'environment', 'env_file', 'command', 'healthcheck', 'deploy'];
    fc.assert(
      fc.property(fc.dictionary(fc.constantFrom(...keys, 'profiles', 'depends_on', 'other'), values), (app) => {
        importCompose({ services: { app, other: null } }, { repository: REPOSITORY, folder: '', files: {} }, ignore);
      }),
    );
    for (const value of [null, 1, 'x', [], { services: [] }]) {
      expect(importCompose(value, { repository: '', folder: '', files: {} }, ignore)).to.deep.equal({});
    }
  });
});
