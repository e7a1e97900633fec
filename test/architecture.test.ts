import { readdir, readFile } from 'node:fs/promises';
import { dirname, join, relative, resolve } from 'node:path';
import { fileURLToPath } from 'node:url';
import { expect } from 'chai';
import { KINDS } from '../shared/queues/work-catalog.js';

/** Checks the rules of docs/architecture.md by reading the imports of every source file. */
const ROOT = resolve(dirname(fileURLToPath(import.meta.url)), '../..');
const ROOMS = ['api', 'workers', 'shared', 'migrations'];

interface Source {
  path: string;
  text: string;
  /** Our files by their path from the root, packages by their name. */
  imports: string[];
}

async function sources(): Promise<Source[]> {
  const found: Source[] = [];
  for (const room of ROOMS) {
    for (const entry of await readdir(join(ROOT, room), { recursive: true })) {
      if (!/\.tsx?$/.test(entry)) continue;
      const path = join(room, entry);
      const text = await readFile(join(ROOT, path), 'utf8');
      const specifiers = [...text.matchAll(/(?:from|import)\s*\(?\s*'([^']+)'/g)].map((match) => match[1] ?? '');
      const imports = specifiers.map((specifier) =>
        specifier.startsWith('.')
          ? relative(ROOT, resolve(dirname(join(ROOT, path)), specifier)).replace(/\.js$/, '.ts')
          : specifier,
      );
      found.push({ path, text, imports });
    }
  }
  return found;
}

/** The layers of shared/, lowest first: a file imports from its own and lower ones. Unlisted folders are subjects. */
const STOREYS = [
  ...['shared/core/', 'shared/engine/', 'shared/secrets/', 'subjects', 'shared/queues/'],
  ...['shared/launcher/', 'shared/operator/'],
];

function storey(path: string): number {
  const found = STOREYS.findIndex((prefix) => path.startsWith(prefix));
  return found === -1 ? STOREYS.indexOf('subjects') : found;
}

/** Files of a subject that only decide and describe. Its other files read and write. */
const MODELS =
  /^(shared\/\w+|api\/resources\/[\w-]+|workers\/\w+)\/(pull-)?(model|configuration|image-reference|service-source|policy|plan-catalog|billing|reserved-slugs|database-name|rate-limit-lease)\.ts$/;

function imports(source: Source, name: string): boolean {
  return source.imports.some((target) => target === name || target.startsWith(`${name}/`));
}

function offenders(all: Source[], bad: (source: Source) => boolean): string[] {
  return all.filter(bad).map((source) => source.path);
}

describe('The house', () => {
  let all: Source[];
  before(async () => {
    all = await sources();
    expect(all.length).to.be.greaterThan(50);
  });

  it('api and workers import shared, never each other, and shared imports neither', () => {
    const across = all.flatMap((source) =>
      source.imports
        .filter(
          (target) =>
            (source.path.startsWith('api/') && target.startsWith('workers/')) ||
            (source.path.startsWith('workers/') && target.startsWith('api/')) ||
            (source.path.startsWith('shared/') && /^(api|workers)\//.test(target)),
        )
        .map((target) => `${source.path} → ${target}`),
    );
    expect(across).to.deep.equal([]);
  });

  it('no program imports from the tests', () => {
    expect(offenders(all, (source) => source.imports.some((target) => target.startsWith('test/')))).to.deep.equal([]);
  });

  it('inside shared: core ← engine ← secrets ← subjects ← queues ← launcher ← operator', () => {
    const upward = all
      .filter((source) => source.path.startsWith('shared/'))
      .flatMap((source) =>
        source.imports
          .filter((target) => target.startsWith('shared/') && storey(target) > storey(source.path))
          .map((target) => `${source.path} → ${target}`),
      );
    expect(upward).to.deep.equal([]);
  });

  it('two folders of shared or workers do not import each other', () => {
    const folderOf = (path: string) => /^(shared|workers)\/[\w-]+\//.exec(path)?.[0];
    const edges = new Set<string>();
    for (const { path, text } of all) {
      // Imports of types make no cycle: they do not exist at run time.
      for (const [, target = ''] of text.matchAll(/^(?:import|export) (?!type )[^;]*?from '(\.[^']+)'/gms)) {
        const [from, to] = [folderOf(path), folderOf(relative(ROOT, resolve(dirname(join(ROOT, path)), target)))];
        if (from !== undefined && to !== undefined && from !== to) edges.add(`${from} ${to}`);
      }
    }
    expect(edges.size).to.be.greaterThan(50);
    const both = [...edges].filter((edge) => edges.has(edge.split(' ').reverse().join(' ')));
    expect(both).to.deep.equal([]);
  });

  it('shared holds what two programs use', () => {
    const programOf = (path: string) =>
      /^shared\/(launcher|operator)\//.test(path) ? 'launcher' : (path.split('/')[0] ?? '');
    const programs = new Map<string, Set<string>>(all.map(({ path }) => [path, new Set()]));
    // A program that uses a file of shared/ also uses what the file imports.
    for (let grew = true; grew; ) {
      grew = false;
      for (const { path, imports: targets } of all) {
        const program = programOf(path);
        const users = program === 'shared' ? (programs.get(path) ?? []) : [program];
        for (const known of targets.map((target) => programs.get(target)).filter((one) => one !== undefined)) {
          const before = known.size;
          for (const user of users) known.add(user);
          grew ||= known.size > before;
        }
      }
    }
    const alone = [...programs].filter(([path, users]) => programOf(path) === 'shared' && users.size === 1);
    expect(alone.map(([path]) => path)).to.deep.equal([]);
  });

  it('has no circle of imports', () => {
    const graph = new Map(
      all.map((source) => [source.path, source.imports.filter((target) => target.endsWith('.ts'))]),
    );
    const done = new Set<string>();
    const circles: string[] = [];
    const visit = (path: string, trail: string[]): void => {
      if (trail.includes(path)) circles.push([...trail.slice(trail.indexOf(path)), path].join(' → '));
      if (done.has(path) || trail.includes(path)) return;
      for (const target of graph.get(path) ?? []) visit(target, [...trail, path]);
      done.add(path);
    };
    for (const path of graph.keys()) visit(path, []);
    expect(circles).to.deep.equal([]);
  });

  it('models have no I/O, no clock and no environment', () => {
    const impure =
      /\bprocess\.|Date\.now\(|new Date\(\)|setTimeout|setInterval|node:(fs|child_process|http|https|dns)\b/;
    expect(offenders(all, (source) => MODELS.test(source.path) && impure.test(source.text))).to.deep.equal([]);
  });

  const homes: [name: string, allowed: RegExp][] = [
    ['koa', /^api\//],
    ['@koa/router', /^api\//],
    [
      'knex',
      /^(shared\/core\/database\/|migrations\/|shared\/\w+\/[\w-]*store\.ts|api\/resources\/[\w-]+\/(store|read-lines)\.ts)/,
    ],
    ['bullmq', /^(shared\/queues\/(queue-engine|bull-pool|job-turns|old-jobs)|workers\/engine\/worker-pool)\.ts/],
    ['ioredis', /^shared\/core\/redis-client\.ts/],
    ['@aws-sdk/client-s3', /^workers\/backups\/s3-store\.ts/],
    ['nodemailer', /^shared\/core\/mail\.ts/],
    ['otpauth', /^shared\/secrets\/totp\.ts/],
    ['dockerode', /^workers\/(docker|builders|runtime\/swarm)\//],
    ['undici', /^workers\/edge\//],
  ];
  it('every child process starts through spawnLimited, or has limits of its own (docs/security.md, Child processes)', () => {
    const own =
      /^(shared\/(core\/(limited-child|process-identity)|launcher\/(tethered-child|system-user)|operator\/main)|api\/cli\/(work-tree|commands\/(status|connect))|workers\/(core\/command-wrappers|sandbox\/(launch-plain|own-child|loopback-relay)|builders\/reader\/reader-pool|network\/(rootless-processes|run-tool)))\.ts$/;
    const starts = /^import (?!type )[^;]*from 'node:child_process'/m;
    expect(offenders(all, ({ path, text }) => starts.test(text) && !own.test(path))).to.deep.equal([]);
  });

  for (const [name, allowed] of homes) {
    it(`${name} is imported only where it is at home`, () => {
      expect(offenders(all, (source) => imports(source, name) && !allowed.test(source.path))).to.deep.equal([]);
    });
  }

  it("only the configuration, the launcher and the operator's command read the environment", () => {
    const allowed =
      /^(shared\/(core\/config\.ts|launcher\/|operator\/)|api\/(admin|cli)\/main\.ts|workers\/core\/own-programs\.ts)/;
    expect(offenders(all, (source) => /process\.env/.test(source.text) && !allowed.test(source.path))).to.deep.equal(
      [],
    );
  });

  it('the command line has no code of the server: it imports types, and what reads .env texts for the console too', () => {
    const cli = all.filter(({ path }) => path.startsWith('api/cli/'));
    expect(cli.length).to.be.greaterThan(10);
    const code = cli.flatMap(({ path, text }) =>
      [...text.matchAll(/^(?:import|export) (type )?[^;]*?from '(\.[^']+)'/gm)]
        .filter(([, type]) => type === undefined)
        .map(([, , target = '']) => relative(ROOT, resolve(dirname(join(ROOT, path)), target)))
        .filter((target) => !target.startsWith('api/cli/') && target !== 'api/pages/console/ui/env-text.js')
        .map((target) => `${path} → ${target}`),
    );
    expect(code).to.deep.equal([]);
  });

  it('only the engine writes leases, dispatches and ends of work', () => {
    // Admission makes records due. Commit events and reports to git hosts have no lease.
    const own = [
      'shared/commits/store.ts',
      'shared/deployments/deployment-admission.ts',
      'shared/runs/run-admission.ts',
      'workers/forge/store.ts',
    ];
    const tables = KINDS.map(({ table }) => table).join('|');
    const writes = new RegExp(
      `update (${tables})\\b[^\`]*?\\bset\\b(?:(?!\\bwhere\\b)[^\`])*?\\b(status|fence|lease_expires_at|due_at|dispatches|finished_at) =`,
    );
    const found = offenders(all, ({ path, text }) => !path.startsWith('migrations/') && writes.test(text));
    expect(found.filter((path) => !own.includes(path))).to.deep.equal([]);
    expect(
      own.filter((path) => !found.includes(path)),
      'these write none any more',
    ).to.deep.equal([]);
  });

  it('a kind of work is known to its own folder, to its line in the catalog, and to one file that carries it out', () => {
    // The catalog lists all kinds; the dispatcher also admits deployments and runs.
    const registers = /^shared\/queues\/(work-catalog|dispatcher)\.ts$/;
    const kinds = all.filter(({ path }) => /^shared\/(?!engine)\w+\/kind\.ts$/.test(path));
    expect(kinds.length).to.be.greaterThan(5);
    for (const { path } of kinds) {
      const outside = offenders(all, (source) => source.imports.includes(path) && !registers.test(source.path)).filter(
        (importer) => !importer.startsWith(path.replace('kind.ts', '')),
      );
      expect(outside, path).to.have.length.at.most(1);
      for (const importer of outside) expect(importer, path).to.match(/^workers\//);
    }
  });

  it('the engine knows no kind of work', () => {
    const engine = all.filter(({ path }) => path.startsWith('shared/engine/'));
    const known = engine.flatMap(({ imports }) => imports.filter((name) => !/^shared\/(core|engine)\//.test(name)));
    expect(known).to.deep.equal([]);
  });

  it('only main files end the process', () => {
    const main = /(^|\/)(main|launch|node-version)\.ts$/;
    expect(offenders(all, (source) => /process\.exit\(/.test(source.text) && !main.test(source.path))).to.deep.equal(
      [],
    );
  });

  it('workers remove folders with their content by one function', () => {
    const removal = /\brm(?:Sync)?\([^)]*recursive|\brmdir(?:Sync)?\([^)]*recursive/;
    expect(offenders(all, (source) => source.path.startsWith('workers/') && removal.test(source.text))).to.deep.equal(
      [],
    );
  });

  it('the content of a data server is opened by one room, which follows no link', () => {
    const opens = /from 'node:fs(\/promises)?'/;
    /** Files that open only what the platform has made: volumes, work folders, stores and archives. */
    const own =
      /^workers\/(data\/(data-volume|local-volume-files|data-services|data-kinds)|volumes\/(volume-folder|volume-image|volume-tar|service-volumes)|backups\/(fresh-server|work-folders|postgres-check|check-archive|folder-store|backup-archive|read-archive|volumes-target))\.ts$/;
    const rooms = all.filter(({ path }) => /^workers\/(data|volumes|backups)\//.test(path));
    expect(rooms.length).to.be.greaterThan(20);
    const opening = offenders(rooms, (source) => opens.test(source.text) && !own.test(source.path));
    expect(opening).to.deep.equal(['workers/volumes/tenant-folder.ts']);
    const named =
      /(?<!TenantFolder\.)\b(?:open|readFile|writeFile|rm|stat|createReadStream)\([^)]*(?:\.data\b|PG_VERSION|\bSOCKETS\b)/;
    expect(offenders(rooms, (source) => named.test(source.text))).to.deep.equal([]);
  });

  it('sessions on the PostgreSQL of a tenant are opened by one room, which sets what the tenant cannot override', () => {
    const workers = all.filter(({ path }) => path.startsWith('workers/'));
    const opens = /\bnew (pg\.Pool|(pg\.)?Client)\(|\b(psql|pg_dump|pg_restore)\b/;
    expect(offenders(workers, (source) => opens.test(source.text))).to.have.members([
      'workers/data/server-session.ts',
      // A user's shell, within the tenant's own container.
      'workers/remote/database-shell.ts',
      // The platform's own database.
      'workers/core/leadership.ts',
    ]);
  });

  it('casts through unknown are those of docs/decisions/12-casts-through-unknown.md', () => {
    const casts = all.flatMap(({ path, text }) => [...text.matchAll(/as unknown as/g)].map(() => path));
    expect(casts.sort()).to.deep.equal([
      'api/http/route.ts',
      'api/pages/console/api/use-api.ts',
      'shared/deployments/store.ts',
      'shared/queues/queue-engine.ts',
      'shared/queues/queue-engine.ts',
      'workers/releases/deployment-parts.ts',
    ]);
  });

  it('the process that reads repositories starts without libraries', () => {
    const byPath = new Map(all.map((source) => [source.path, source]));
    // The reader process loads the second file before its first request.
    const reached = new Set([
      'workers/builders/reader/reader-process.ts',
      'workers/builders/detection/detect-project.ts',
    ]);
    const libraries: string[] = [];
    for (const path of reached) {
      const text = byPath.get(path)?.text ?? '';
      for (const [, names = '', specifier = ''] of text.matchAll(/^import ([^;]*?) from '([^']+)';$/gms)) {
        const onlyTypes = names.startsWith('type ') || /^\{\s*(type \w+(,\s*|\s*\}$))+$/.test(names);
        if (onlyTypes || specifier.startsWith('node:')) continue;
        if (specifier.startsWith('.')) reached.add(join(dirname(path), specifier).replace(/\.js$/, '.ts'));
        else libraries.push(`${path} → ${specifier}`);
      }
    }
    expect(reached.size).to.be.greaterThan(10);
    expect(libraries).to.deep.equal([]);
  });
});
