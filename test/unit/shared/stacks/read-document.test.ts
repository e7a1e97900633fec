import { expect } from 'chai';
import { ROUTES } from '../../../../api/resources/index.js';
import { AppError } from '../../../../shared/core/error-registry.js';
import { DEFAULT_CONFIGURATION } from '../../../../shared/services/configuration.js';
import { SERVICE_KINDS } from '../../../../shared/services/model.js';
import { StackDocument } from '../../../../shared/stacks/document-schema.js';
import { readDocument } from '../../../../shared/stacks/read-document.js';

const read = (text: string) => readDocument(text, ['example.test']).wish;

function refusal(text: string): AppError {
  try {
    read(text);
  } catch (error) {
    if (error instanceof AppError) return error;
    throw error;
  }
  throw new Error('the document was accepted');
}

function faults(text: string): string[] {
  const error = refusal(text);
  expect(error.code).to.equal('invalid_request');
  return (error.details ?? []).map(({ path, message }) => `${path} ${message}`);
}

/** Write operations that are acts, and so have no field in a document. */
const ACTS = [
  ...['service.delete', 'service.action', 'deployment.create', 'deployment.cancel', 'deployment.rollback'],
  'deployment.promote',
  ...['run.create', 'run.cancel', 'shell.open', 'tunnel.open', 'domain.verify', 'credentials.reveal'],
  ...['backup.create', 'backup.delete', 'backup.restore', 'preview.create', 'preview.delete'],
  ...['pull-request.approve', 'pull-request.decline'],
  // A hook has a secret, which the API makes and shows once.
  ...['hook.create', 'hook.update', 'hook.delete'],
];
/** What the API can set on a service → its field in a document. */
const SAID: Record<string, string> = {
  'service.update': 'kind',
  'service.archive': 'archived',
  'service.restore': 'archived',
  'variable.create': 'variables',
  'variable.set': 'variables',
  'variable.update': 'variables',
  'variable.delete': 'variables',
  'volume.create': 'volumes',
  'volume.update': 'volumes',
  'volume.delete': 'volumes',
  'domain.create': 'domains',
  'domain.update': 'domains',
  'domain.delete': 'domains',
  'rule.set': 'rules',
};

describe('A stack document', () => {
  const properties = StackDocument.properties;
  const fieldsOf = (section: typeof properties.services) =>
    Object.keys(
      (section as unknown as { additionalProperties: { properties: object } }).additionalProperties.properties,
    );

  it('has every field that the API can set on a service, and no other', () => {
    const parts = [...new Set(Object.values(SAID)), 'groups'];
    for (const section of [properties.services, properties.databases]) {
      expect(fieldsOf(section)).to.have.members([...Object.keys(DEFAULT_CONFIGURATION), ...parts]);
    }
  });

  it('says what every write of a service can set', () => {
    const writes = ROUTES.filter(({ method, path }) => method !== 'GET' && path.includes('/services/:serviceId'));
    const operations = writes.map(({ operation }) => operation);
    expect(operations.filter((operation) => !ACTS.includes(operation) && !(operation in SAID))).to.deep.equal([
      // A document links a group at the service.
      'group.unlink',
    ]);
    expect([...ACTS, ...Object.keys(SAID)].filter((name) => !operations.includes(name as never))).to.deep.equal([]);
  });

  it('has every kind of service', () => {
    for (const kind of SERVICE_KINDS) {
      const section = kind === 'postgres' || kind === 'redis' ? 'databases' : 'services';
      expect(read(`${section}:\n  one:\n    kind: ${kind}\n`).services[0]).to.include({ kind, section });
    }
    expect(faults('services:\n  db:\n    kind: postgres\n').join()).to.match(
      /line 3, column 11: kind must be one of web/,
    );
  });

  it('is read with all its parts', () => {
    const wish = read(
      `
release: separate
services:
  web:
    kind: web
    repository: https://git.example.com/shop.git
    replicas: 2
    variables:
      LOG: info
      DB: { reference: { service: db, key: URL } }
      KEY: { generate: 32 }
      TOKEN: { secret: true, scope: production }
    volumes:
      data: { mountPath: /data, sizeGb: 2 }
    domains: [Shop.Example.com, { name: Old.example.com, redirectTo: SHOP.example.com }]
    rules: [{ type: redirect, from: /old, to: /new }]
    groups: [shared]
databases:
  db: { kind: postgres, plan: basic }
groups:
  shared:
    variables: { A: '1' }
`.replace('basic', 'free'),
    );
    expect(wish.services.map(({ name }) => name)).to.deep.equal(['web', 'db']);
    const [web] = wish.services;
    expect(web?.configuration).to.deep.equal({ repository: 'https://git.example.com/shop.git', replicas: 2 });
    expect(web?.variables).to.deep.equal([
      { key: 'LOG', scope: 'all', content: { value: 'info' } },
      { key: 'DB', scope: 'all', content: { reference: { service: 'db', key: 'URL' } } },
      { key: 'KEY', scope: 'all', content: { generate: 32 } },
      { key: 'TOKEN', scope: 'production', content: { secret: true } },
    ]);
    expect(web?.volumes).to.deep.equal([{ name: 'data', mountPath: '/data', sizeGb: 2 }]);
    expect(web?.domains).to.deep.equal([
      { name: 'shop.example.com', redirectTo: null },
      { name: 'old.example.com', redirectTo: 'shop.example.com' },
    ]);
    expect(web?.rules).to.deep.equal([{ type: 'redirect', from: '/old', to: '/new' }]);
    expect(wish.groups).to.deep.equal([
      { name: 'shared', path: '/groups/shared', variables: [{ key: 'A', scope: 'all', content: { value: '1' } }] },
    ]);
  });

  it('may be JSON, empty, or only comments', () => {
    expect(read('{"services":{"a":{"kind":"worker"}}}').services).to.have.length(1);
    for (const text of ['', '# nothing\n', '{}'])
      expect(read(text)).to.deep.equal({ together: false, services: [], groups: [] });
  });

  it('names an unknown key with its line and column, and suggests the nearest one', () => {
    expect(faults('services:\n  web:\n    kind: web\n    repositry: x\n')).to.deep.equal([
      '/document/services/web/repositry line 4, column 5: repositry is not a known key; did you mean repository?',
    ]);
    expect(faults('servics: {}\n')[0]).to.match(/line 1, column 1: servics .*did you mean services\?/);
    expect(faults('nothing_like_it: {}\n')[0]).to.match(/is not a known key$/);
    expect(faults('services:\n  web:\n    kind: wb\n')[0]).to.match(
      /line 3, column 11: kind must be .*did you mean web\?/,
    );
  });

  it('names the line of each of several faults', () => {
    const found = faults(`services:
  web:
    kind: web
    port: 99999
    variables:
      A: 1
      B: { value: x, secret: true }
      C: { reference: { key: X } }
      9: x
`);
    expect(found.map((fault) => /line (\d+)/.exec(fault)?.[1])).to.deep.equal(['4', '6', '7', '8', '9']);
    expect(found[1]).to.contain('must be a text: put it in quotes, "1"');
    expect(found[2]).to.contain('must not be given with it');
    expect(found[4]).to.contain('must be a name of letters, digits and _');
  });

  it('names the line of a fault of YAML', () => {
    expect(faults('services:\n  web: [\n')[0]).to.match(/^\/document line [23], column \d+: /);
    expect(faults('services:\n  a: { kind: web }\n  a: { kind: web }\n')[0]).to.match(
      /line 3, column 3: the key a is given twice/,
    );
  });

  it('may use anchors and merges, and finds faults in what they bring', () => {
    const text = `
services:
  one: &base
    kind: worker
    startCommand: node one.js
    variables: &shared { A: '1' }
  two:
    <<: *base
    startCommand: node two.js
  three: { kind: worker, variables: *shared }
`;
    const { services } = read(text);
    expect(services.map(({ configuration }) => configuration.startCommand)).to.deep.equal([
      'node one.js',
      'node two.js',
      undefined,
    ]);
    expect(services[2]?.variables).to.have.length(1);
    expect(
      faults(text.replace('kind: worker\n', 'kind: worker\n    prt: 1\n')).every((fault) =>
        fault.includes('line 5, column 5'),
      ),
    ).to.equal(true);
    // Keys with `x-` are a place for anchors.
    expect(read('x-base: &base { kind: worker }\nservices: { a: *base }\n').services).to.have.length(1);
    const many = Array.from({ length: 300 }, (_, i) => `  s${i}: { <<: *base, port: ${i + 1} }`).join('\n');
    expect(read(`services:\n  base: &base { kind: web }\n${many}\n`).services).to.have.length(301);
  });

  it('is refused if its aliases explode or stand inside of themselves', () => {
    const levels = Array.from(
      { length: 20 },
      (_, i) => `l${i + 1}: &l${i + 1} [${Array(10).fill(`*l${i}`).join(', ')}]`,
    );
    const started = performance.now();
    expect(faults(`l0: &l0 [x]\n${levels.join('\n')}\n`)[0]).to.contain('values when its aliases are written out');
    expect(faults('services: &a { b: *a }\n')[0]).to.contain('stands inside of its own anchor');
    expect(faults('services: *none\n')[0]).to.match(/none/);
    expect(faults(`services: ${'['.repeat(200)}${']'.repeat(200)}`)[0]).to.contain('levels deep');
    expect(performance.now() - started).to.be.lessThan(5000);
  });

  it('that is hostile is refused in a short time', () => {
    const texts = ['[1,'.repeat(300_000), 'a: 1\n'.repeat(190_000), '['.repeat(900_000), 'a:\n '.repeat(240_000)];
    const keys = Array.from({ length: 40_000 }, (_, i) => `  s${i}: { kind: web }`).join('\n');
    for (const text of [...texts, `services:\n${keys}`, `${'k'.repeat(900_000)}: 1`]) {
      const started = process.cpuUsage();
      expect(faults(text)).to.have.length(1);
      expect(process.cpuUsage(started).user / 1000).to.be.lessThan(2000);
    }
  });

  it('is refused beyond 1 MB', () => {
    expect(refusal(`# ${'x'.repeat(1_000_000)}`).code).to.equal('payload_too_large');
    expect(read(`# ${'x'.repeat(999_000)}`).services).to.deep.equal([]);
  });

  it('is refused if it contradicts itself', () => {
    const web = (lines: string) => `services:\n  web:\n    kind: web\n${lines}`;
    expect(faults(web('    minReplicas: 5\n    maxReplicas: 2\n'))[0]).to.match(
      /line 4, column 18: minReplicas must not exceed/,
    );
    expect(faults(web('    domains: [a.example.com, A.example.com]\n'))[0]).to.contain('belongs to web already');
    expect(faults(web('    domains: [x.example.test]\n'))[0]).to.contain("the platform's own name");
    const redirect = (entry: string) => faults(web(`    domains: [{ ${entry} }]\n`));
    expect(redirect('name: a.example.com, redirectTo: "*.b.example"')[0]).to.match(
      /domains\/0\/redirectTo line 4, column \d+: redirectTo is a wildcard/,
    );
    expect(redirect('name: x.example.test, redirectTo: b.example')[0]).to.contain('/domains/0/name ');
    expect(redirect('name: a.example.com')).to.have.length(1);
    expect(redirect('name: a.example.com, redirect: b.example').join()).to.contain('did you mean redirectTo?');
    expect(faults(web('    domains: [1]\n'))[0]).to.contain('must be a text: put it in quotes, "1"');
    expect(faults(web('    volumes: { a: { mountPath: /etc/x, sizeGb: 1 } }\n'))[0]).to.contain(
      'belongs to the system',
    );
    expect(faults(web('    groups: [a, a]\n'))[0]).to.contain('is given twice');
    expect(faults(`${web('')}databases:\n  web: { kind: redis }\n`)[0]).to.contain('is also the name of a service');
    expect(faults('services:\n  w: { kind: worker, domains: [a.example.com] }\n')[0]).to.contain('no visitors');
    expect(faults('services:\n  w: { kind: worker, rules: [{ type: maintenance }] }\n')[0]).to.contain('no visitors');
    expect(faults(web('    rules: [{ type: redirect, from: /a, to: /a }]\n'))[0]).to.contain('in a loop');
    expect(faults('services:\n  " w": { kind: worker }\n')[0]).to.contain('without spaces at its ends');
  });

  it('with release: together takes databases, and no service with a volume', () => {
    const text = (release: string, parts: string) =>
      `release: ${release}\nservices:\n  web: { kind: web${parts} }\ndatabases:\n  db: { kind: postgres }\n`;
    const volumes = ', volumes: { data: { mountPath: /data, sizeGb: 1 } }';
    expect(read(text('together', '')).together).to.equal(true);
    expect(read(text('separate', volumes)).together).to.equal(false);
    expect(faults(text('together', volumes))).to.deep.equal([
      '/document/services/web/volumes line 3, column 30: volumes are not possible with release: together: ' +
        'the service has a volume, which one release at a time can use, so it cannot go live together with other services',
    ]);
    expect(faults('release: togther')[0]).to.contain('did you mean together?');
  });

  it('takes names of JavaScript objects for names', () => {
    expect(read('services:\n  constructor: { kind: worker }\n').services[0]?.name).to.equal('constructor');
    expect(faults('services:\n  __proto__: { kind: worker }\n')).to.have.length(1);
  });
});
