import { expect } from 'chai';
import { parse } from 'yaml';
import type { StackPlan } from '../../../../api/cli/api-types.js';
import { formatOf } from '../../../../api/cli/commands/import.js';
import { planLines, planSummary } from '../../../../api/cli/plan-lines.js';
import { mergeStack } from '../../../../api/cli/stack-file.js';

const PLAN: StackPlan = {
  hash: '',
  destructive: true,
  changes: [
    { action: 'create', kind: 'service', name: 'web', fields: [{ path: '/kind', from: null, to: 'web' }] },
    { action: 'update', kind: 'database', name: 'db', fields: [{ path: '/plan', from: 'free', to: 'pro' }] },
    { action: 'replace', kind: 'volume', name: 'web.data', fields: [{ path: '/sizeGb', from: 2, to: 1 }] },
    { action: 'delete', kind: 'variable', name: 'web.OLD', fields: [] },
  ],
  deploys: ['web', 'db'],
  release: 'separate',
  secrets: [],
  warnings: ['be careful'],
};

describe('A plan in a terminal', () => {
  it('has a line for each change, its fields, what is deployed, and warnings', () => {
    expect(planLines(PLAN).map(({ text }) => text)).to.deep.equal([
      ...['+ service web', '    kind: web', '~ database db', '    plan: free → pro'],
      ...['± volume web.data', '    sizeGb: 2 → 1', '- variable web.OLD', 'Deploys web, db', '! be careful'],
    ]);
    const together = planLines({ ...PLAN, release: 'together' }).map(({ text }) => text);
    expect(together).to.include('Deploys web, db, all together or none');
    expect(planSummary(PLAN)).to.equal('4 changes: 1 to create, 1 to update, 1 to replace, 1 to delete.');
    expect(planSummary({ ...PLAN, changes: [] })).to.equal('Nothing to change.');
  });

  it('has a line of its own for each line of a long value, and shortens what is too long', () => {
    const update = (path: string, from: unknown, to: unknown): StackPlan['changes'][number] => ({
      ...{ action: 'update', kind: 'service', name: 'web' },
      fields: [{ path, from, to }],
    });
    const many = Array.from({ length: 15 }, (_, n) => `step ${n}`).join('\n');
    const changes = [update('/startCommand', 'old', `one\ntwo${'o'.repeat(200)}\n`), update('/buildCommand', '', many)];
    expect(planLines({ ...PLAN, changes }).map(({ text }) => text)).to.deep.equal([
      ...['~ service web', '    startCommand:', '      - old', '      + one'],
      `      + two${'o'.repeat(97)}… (203 characters)`,
      ...['~ service web', '    buildCommand:', `      - ''`],
      ...Array.from({ length: 12 }, (_, n) => `      + step ${n}`),
      ...['      + … 3 more lines', 'Deploys web, db', '! be careful'],
    ]);
    const made = { ...update('/dockerfileText', null, 'FROM a\nRUN b'), action: 'create' as const };
    expect(planLines({ ...PLAN, changes: [made] }).map(({ text }) => text)).to.include.members([
      ...['    dockerfileText:', '      FROM a', '      RUN b'],
    ]);
  });

  it('shows control characters of names, and does not send them', () => {
    const changes = [{ action: 'delete' as const, kind: 'service' as const, name: 'a\u001b[2Jb', fields: [] }];
    expect(planLines({ ...PLAN, changes })[0]?.text).not.to.contain('\u001b');
  });
});

describe('The format of an imported file', () => {
  const names = {
    compose: ['docker-compose.yml', 'compose.yaml', 'docker-compose.prod.yml'],
    render: ['render.yaml'],
    heroku: ['app.json', 'Procfile'],
    fly: ['fly.toml', 'fly.staging.toml'],
    railway: ['railway.json', 'railway.toml'],
    kamal: ['deploy.yml', 'deploy.staging.yml'],
  };
  it('is that of its name, or that of the option', () => {
    for (const [format, files] of Object.entries(names)) {
      for (const file of files) expect(formatOf(`/home/shop/config/${file}`, {}), file).to.equal(format);
    }
    expect(formatOf('/home/shop/stack.yml', { format: 'compose' })).to.equal('compose');
  });

  it('is asked for if neither says it', () => {
    expect(() => formatOf('/home/shop/stack.yml', {})).to.throw('The name of stack.yml does not say its format: give');
    expect(() => formatOf('/home/shop/fly.toml', { format: 'nomad' })).to.throw('There is no format nomad: give');
  });
});

describe('A pulled document in an existing file', () => {
  const FILE = `# Our shop
services:
  web: # the site
    kind: web
    port: 3000 # as the framework wants
    variables:
      LOG: info # quiet
      KEY: { generate: 32 }
      GONE: x
      SCOPED: { value: a, scope: preview }
  old:
    kind: worker
release: separate
`;
  const PULLED = `
services:
  web:
    kind: web
    port: 4000
    replicas: 2
    variables:
      LOG: { secret: true }
      KEY: { secret: true }
      NEW: { secret: true }
      SCOPED: { secret: true, scope: production }
databases:
  db: { kind: postgres }
`;

  it('keeps comments and values, changes what differs, and removes what is gone', async () => {
    const merged = await mergeStack(FILE, PULLED);
    expect(merged).to.contain('# Our shop').and.contain('# the site').and.contain('LOG: info # quiet');
    expect(parse(merged)).to.deep.equal({
      services: {
        web: {
          kind: 'web',
          port: 4000,
          variables: {
            LOG: 'info',
            KEY: { generate: 32 },
            SCOPED: { secret: true, scope: 'production' },
            NEW: { secret: true },
          },
          replicas: 2,
        },
      },
      release: 'separate',
      databases: { db: { kind: 'postgres' } },
    });
  });

  it('of equal content stays as it is', async () => {
    expect(await mergeStack(PULLED.trimStart(), PULLED)).to.equal(PULLED.trimStart());
  });

  it('replaces what was merged or aliased by what it says', async () => {
    const file = 'x: &x\n  kind: worker\nservices:\n  a:\n    <<: *x\n    port: 1\n  b: *x\n';
    const pulled = 'services:\n  a: { kind: worker, port: 2 }\n  b: { kind: worker, port: 3 }\n';
    expect(parse(await mergeStack(file, pulled), { merge: true })).to.deep.equal(parse(pulled));
  });

  it('replaces a file that is no YAML, or empty', async () => {
    for (const file of ['a: [', '', '# nothing\n']) expect(await mergeStack(file, PULLED)).to.equal(PULLED);
  });
});
