import { expect } from 'chai';
import fc from 'fast-check';
import { stringify } from 'yaml';
import { pullStack } from '../../../../api/resources/stacks/pull.js';
import { AppError } from '../../../../shared/core/error-registry.js';
import type { StackDocument } from '../../../../shared/stacks/document-schema.js';
import type { EnvironmentState } from '../../../../shared/stacks/environment-state.js';
import { planStack } from '../../../../shared/stacks/plan.js';
import { readDocument } from '../../../../shared/stacks/read-document.js';
import { carryOut, EMPTY, STACK_ID } from './carry-out.js';

const OWN = ['example.test'];

interface Given {
  state?: EnvironmentState;
  stackId?: string | null;
  values?: Record<string, string>;
}

function planned(document: object | string, { state = EMPTY, stackId = STACK_ID, values = {} }: Given = {}) {
  const text = typeof document === 'string' ? document : stringify(document);
  return planStack({ stackId, wish: readDocument(text, OWN).wish, state, values });
}

function plan(document: object | string, given: Given = {}) {
  const { plan, problems } = planned(document, given);
  expect(problems).to.deep.equal([]);
  return plan;
}

function applied(document: object | string, state: EnvironmentState = EMPTY): EnvironmentState {
  const { secrets } = plan(document, { state });
  const values = Object.fromEntries(secrets.map((name) => [name, `secret of ${name}`]));
  return carryOut(state, plan(document, { state, values }).steps);
}

const shown = (document: object | string, given: Given = {}) =>
  plan(document, given).changes.map(({ action, kind, name }) => `${action} ${kind} ${name}`);

const WEB = { kind: 'web', repository: 'https://git.example.com/a.git' };

describe('The plan of a stack', () => {
  it('creates what is not there, in an order in which each step finds what it needs', () => {
    const document = {
      services: {
        web: {
          ...WEB,
          variables: { DB: { reference: { service: 'db', key: 'URL' } } },
          volumes: { data: { mountPath: '/data', sizeGb: 1 } },
          domains: ['a.example.com'],
          rules: [{ type: 'maintenance', for: '/shop/*' }],
          groups: ['shared'],
        },
      },
      databases: { db: { kind: 'postgres' } },
      groups: { shared: { variables: { A: 'x' } } },
    };
    expect(shown(document)).to.deep.equal([
      ...['create group shared', 'create variable shared.A', 'create service web', 'create volume web.data'],
      ...['create domain a.example.com', 'create rules web', 'create variable web.DB', 'create database db'],
    ]);
    const { steps, deploys, destructive } = plan(document);
    expect(steps.map(({ op }) => op)).to.deep.equal([
      ...['group.create', 'service.create', 'service.create', 'volume.create', 'variables.set', 'variables.set'],
      ...['groups.link', 'domain.create', 'rules.set', 'service.deploy', 'service.deploy'],
    ]);
    expect(deploys).to.deep.equal(['web', 'db']);
    expect(destructive).to.equal(false);
    expect(shown(document, { state: applied(document) })).to.deep.equal([]);
  });

  it('changes rules as a whole, whatever the order of their fields, and names users without a password', () => {
    const users = [{ name: 'anna' }];
    const before = { services: { web: { ...WEB, rules: [{ type: 'basicAuth', for: '/*', users }] } } };
    expect(plan(before).warnings.join()).to.contain('web: nobody gets in as anna');
    const state = applied(before);
    expect(
      shown({ services: { web: { ...WEB, rules: [{ users, for: '/*', type: 'basicAuth' }] } } }, { state }),
    ).to.deep.equal([]);
    const again = plan({ services: { web: { ...WEB, rules: [{ type: 'basicAuth', for: '/a', users }] } } }, { state });
    expect(again.changes.map(({ action, kind, name }) => [action, kind, name])).to.deep.equal([
      ['update', 'rules', 'web'],
    ]);
    expect([again.deploys, again.warnings]).to.deep.equal([[], []]);
    expect(shown({ services: { web: WEB } }, { state })).to.deep.equal(['delete rules web']);
  });

  it('shows fields with from and to, and never a value or the secret of an address', () => {
    const before = { services: { web: { ...WEB, variables: { A: 'first value', B: 'second value' } } } };
    const state = applied(before);
    const after = {
      services: {
        web: {
          ...WEB,
          repository: 'https://user:token@git.example.com/a.git',
          port: 3000,
          variables: {
            A: 'third value',
            B: { reference: { serviceId: state.services[0]?.id.replace('1', '2'), key: 'X' } },
          },
        },
      },
    };
    const { changes } = plan(after, { state });
    expect(changes.map(({ name, fields }) => ({ name, fields }))).to.deep.equal([
      {
        name: 'web',
        fields: [
          { path: '/port', from: 8000, to: 3000 },
          { path: '/repository', from: WEB.repository, to: 'https://***@git.example.com/a.git' },
        ],
      },
      { name: 'web.A', fields: [{ path: '/value', from: '***', to: '***' }] },
      {
        name: 'web.B',
        fields: [
          { path: '/value', from: '***', to: null },
          { path: '/reference', from: null, to: { service: state.services[0]?.id.replace('1', '2'), key: 'X' } },
        ],
      },
    ]);
    expect(JSON.stringify(changes)).not.to.match(/token|first|second|third/);
    const done = carryOut(state, plan(after, { state }).steps);
    expect(plan(after, { state: done }).changes).to.deep.equal([]);
    // A pulled document has masked secrets, and changes nothing; another secret changes one thing.
    const masked = stringify(after).replace('user:token', '***');
    expect(plan(masked, { state: done }).changes).to.deep.equal([]);
    expect(plan(stringify(after).replace('token', 'other'), { state: done }).changes).to.have.length(1);
  });

  it('deletes what the stack owns and the document does not name, and nothing else', () => {
    const state = applied({
      services: { a: WEB, b: { ...WEB, variables: { X: 'x' }, volumes: { v: { mountPath: '/v', sizeGb: 1 } } } },
      groups: { g: {} },
    });
    const byHand = structuredClone(state.services.find(({ name }) => name === 'a'));
    if (byHand) state.services.push({ ...byHand, id: byHand.id.replace('0198', '0199'), name: 'hand', owner: null });
    expect(shown({ services: { b: WEB } }, { state })).to.deep.equal([
      ...['delete volume b.v', 'delete variable b.X', 'delete service a', 'delete group g'],
    ]);
    const { destructive, steps } = plan({ services: { b: WEB } }, { state });
    expect(destructive).to.equal(true);
    const ops = steps.map(({ op }) => op);
    expect(ops.indexOf('service.deploy')).to.be.lessThan(ops.indexOf('service.delete'));
  });

  it('grows a volume in place, and replaces it if it shrinks or moves', () => {
    const document = (mountPath: string, sizeGb: number) => ({
      services: { web: { ...WEB, volumes: { v: { mountPath, sizeGb } } } },
    });
    const state = applied(document('/v', 2));
    expect(shown(document('/v', 3), { state })).to.deep.equal(['update volume web.v']);
    expect(plan(document('/v', 3), { state }).deploys).to.deep.equal([]);
    for (const changed of [document('/v', 1), document('/w', 2)]) {
      expect(shown(changed, { state })).to.deep.equal(['replace volume web.v']);
      const { destructive, warnings, deploys } = plan(changed, { state });
      expect(destructive).to.equal(true);
      expect(deploys).to.deep.equal(['web']);
      expect(warnings.join()).to.contain('suspend its service before');
    }
  });

  it('follows a service that was renamed by hand, and renames it back', () => {
    const state = applied({ services: { web: WEB } });
    for (const service of state.services) service.name = 'other';
    expect(plan({ services: { web: WEB } }, { state }).changes).to.deep.equal([
      { action: 'update', kind: 'service', name: 'web', fields: [{ path: '/name', from: 'other', to: 'web' }] },
    ]);
  });

  it('adopts a service that was made by hand, and says so', () => {
    const state = applied({ services: { web: WEB } });
    for (const service of state.services) service.owner = null;
    const { changes, warnings } = plan({ services: { web: WEB } }, { state, stackId: null });
    expect(changes).to.deep.equal([]);
    expect(warnings).to.deep.equal(['web was not made by a stack; from now on it belongs to this one']);
  });

  it('refuses a service of another stack', () => {
    const state = applied({ services: { web: WEB } });
    const other = '0198c0de-0000-7000-8000-00000000000f';
    expect(() => plan({ services: { web: WEB } }, { state, stackId: other }))
      .to.throw(AppError, 'belongs to the stack "shop"')
      .with.property('code', 'owned_elsewhere');
  });

  it('deploys what the change needs', () => {
    const db = { reference: { service: 'api', key: 'TOKEN' } };
    const document = {
      services: {
        web: { ...WEB, groups: ['g'] },
        api: { ...WEB, variables: { TOKEN: 'one' } },
        far: { ...WEB, variables: { OVER: { reference: { service: 'near', key: 'VIA' } } } },
        near: { ...WEB, variables: { VIA: db } },
      },
      groups: { g: { variables: { A: '1' } } },
    };
    const state = applied(document);
    const deploysOf = (change: (copy: typeof document) => void) => {
      const copy = structuredClone(document);
      change(copy);
      return plan(copy, { state }).deploys;
    };
    expect(deploysOf(() => {})).to.deep.equal([]);
    expect(deploysOf(({ services }) => Object.assign(services.web, { description: 'x', replicas: 2 }))).to.deep.equal(
      [],
    );
    expect(deploysOf(({ services }) => Object.assign(services.web, { startCommand: 'x' }))).to.deep.equal(['web']);
    expect(deploysOf(({ groups }) => Object.assign(groups.g.variables, { A: '2' }))).to.deep.equal(['web']);
    expect(deploysOf(({ services }) => Object.assign(services.api.variables, { TOKEN: 'two' }))).to.deep.equal([
      ...['api', 'far', 'near'],
    ]);
    const { deploys, warnings } = plan({ services: { a: { kind: 'web' }, b: { ...WEB, archived: true } } });
    expect(deploys).to.deep.equal([]);
    expect(warnings).to.deep.equal(['a is not deployed: it has no source yet', 'b is not deployed: it is archived']);
  });

  it('asks once for a secret and keeps it, and keeps a generated value', () => {
    const document = { services: { web: { ...WEB, variables: { S: { secret: true }, G: { generate: 32 } } } } };
    expect(plan(document).secrets).to.deep.equal(['web.S']);
    const state = applied(document);
    expect(plan(document, { state })).to.deep.include({ secrets: [], changes: [], steps: [] });
    const given = plan(document, { state, values: { 'web.S': 'new' } });
    expect(given.changes.map(({ name }) => name)).to.deep.equal(['web.S']);
    expect(given.deploys).to.deep.equal(['web']);
  });

  it('has the hash of what was seen', () => {
    const document = (value: string) => ({ services: { web: { ...WEB, variables: { A: value } } } });
    const { hash } = plan(document('x'));
    expect(plan(document('x')).hash).to.equal(hash);
    expect(plan(document('y')).hash).not.to.equal(hash);
    expect(plan(document('x'), { state: applied({ services: { web: WEB } }) }).hash).not.to.equal(hash);
  });

  it('names references that lead nowhere or in a circle', () => {
    const to = (service: string, key: string) => ({ reference: { service, key } });
    const { problems } = planned({
      services: {
        a: { ...WEB, variables: { A: to('b', 'B'), NONE: to('nothing', 'X'), KEY: to('db', 'X'), OWN: to('a', 'A') } },
        b: { ...WEB, variables: { B: to('c', 'C'), FINE: to('db', 'URL'), HOST: to('c', 'HOST') } },
        c: { ...WEB, variables: { C: to('a', 'A') } },
      },
      databases: { db: { kind: 'redis' } },
    });
    expect(problems).to.deep.equal([
      { path: '/services/a/variables/A', message: 'refers back to itself' },
      {
        path: '/services/a/variables/NONE',
        message: 'refers to nothing, which neither the document nor the environment has',
      },
      { path: '/services/a/variables/KEY', message: 'refers to X, which db does not have' },
      { path: '/services/a/variables/OWN', message: 'refers to its own service' },
      { path: '/services/b/variables/B', message: 'refers back to itself' },
      { path: '/services/c/variables/C', message: 'refers back to itself' },
    ]);
  });

  it('refuses what cannot change, and names and domains that are taken', () => {
    const state = applied({
      services: { web: { ...WEB, domains: ['a.example.com'] } },
      databases: { db: { kind: 'postgres' } },
    });
    for (const service of state.services) if (service.kind === 'postgres') service.hasData = true;
    const problems = (document: object) =>
      planned(document, { state }).problems.map(({ path, message }) => `${path} ${message}`);
    expect(problems({ services: { web: { ...WEB, kind: 'worker' } } })[0]).to.match(
      /^\/services\/web\/kind cannot change/,
    );
    expect(problems({ databases: { db: { kind: 'postgres', databaseVersion: '17' } } })[0]).to.contain(
      'once there is data',
    );
    expect(problems({ services: { b: { ...WEB, domains: ['a.example.com'] } } })[0]).to.contain(
      'belongs to the service web',
    );
    expect(problems({ services: { web: WEB, b: { ...WEB, domains: ['a.example.com'] } } })).to.deep.equal([]);
    expect(problems({ services: { b: { ...WEB, repository: 'https://***@x.example/a.git' } } })[0]).to.contain(
      'asterisks',
    );
    expect(problems({ services: { web: { ...WEB, groups: ['none'] } } })[0]).to.contain('/services/web/groups/0');
    const twice = { ...state, services: state.services.map((service) => ({ ...service, name: 'web', owner: null })) };
    expect(planned({ services: { web: WEB } }, { state: twice }).problems[0]?.message).to.contain(
      'names 2 of the environment',
    );
  });

  describe('of redirects of domains', () => {
    type Domains = Record<string, (string | { name: string; redirectTo: string })[]>;
    const shop = (domains: Domains) => ({
      services: Object.fromEntries(Object.entries(domains).map(([name, list]) => [name, { ...WEB, domains: list }])),
    });
    const to = (name: string, redirectTo: string) => ({ name, redirectTo });
    const [A, B, C] = ['a.example.com', 'b.example.com', 'c.example.com'];

    it('makes, changes and ends them, and shows from and to', () => {
      const made = plan(shop({ web: [to(A, B), B] }));
      expect(made.changes.filter(({ kind }) => kind === 'domain')[0]?.fields).to.deep.equal([
        { path: '/service', from: null, to: 'web' },
        { path: '/redirectTo', from: null, to: B },
      ]);
      const state = applied(shop({ web: [to(A, B), B] }));
      expect(plan(shop({ web: [to(A, B), B] }), { state }).steps).to.deep.equal([]);
      const changed = plan(shop({ web: [to(A, C), B] }), { state });
      const change = { kind: 'domain', name: A, fields: [{ path: '/redirectTo', from: B, to: C }] };
      expect(changed.changes).to.deep.equal([{ action: 'update', ...change }]);
      expect(changed.steps).to.deep.equal([{ op: 'domain.redirect', service: 'web', hostname: A, redirectTo: C }]);
      expect([changed.destructive, changed.deploys]).to.deep.equal([false, []]);
      const ended = plan(shop({ web: [A, B] }), { state });
      expect(ended.steps).to.deep.equal([{ op: 'domain.redirect', service: 'web', hostname: A, redirectTo: null }]);
    });

    it('refuses chains, also with services that the document does not name', () => {
      const problems = (domains: Domains, state = EMPTY) =>
        planned(shop(domains), { state }).problems.map(({ path, message }) => `${path} ${message}`);
      const at = (index: number) => `/services/web/domains/${index}/redirectTo`;
      expect(problems({ web: [to(A, A)] })).to.deep.equal([`${at(0)} is the domain itself`]);
      expect(problems({ web: [to(A, B), to(B, C)] })).to.deep.equal([
        `${at(0)} makes a chain of redirects with ${B}`,
        `${at(1)} makes a chain of redirects with ${A}`,
      ]);
      const other = applied(shop({ other: [to(A, B)] }));
      for (const service of other.services) service.owner = null;
      expect(problems({ web: [to(B, C)] }, other)).to.deep.equal([`${at(0)} makes a chain of redirects with ${A}`]);
      expect(problems({ web: [to(C, A)] }, other)).to.deep.equal([`${at(0)} makes a chain of redirects with ${A}`]);
      expect(problems({ web: [to(C, B)] }, other)).to.deep.equal([]);
    });

    it('orders them so that no step makes a chain', () => {
      const names = [A, B, C, 'd.example.com'];
      // Each domain answers itself or redirects to one that does, and two services share the domains.
      const redirects = fc
        .array(fc.option(fc.integer({ min: 0, max: 3 })), { minLength: 4, maxLength: 4 })
        .map((targets) => targets.map((target) => (target === null || targets[target] !== null ? null : target)));
      const domains = (targets: (number | null)[]): Domains => {
        const entries = names.map((name, i) =>
          targets[i] == null ? name : to(name, String(names[Number(targets[i])])),
        );
        return { one: entries.slice(0, 2), two: entries.slice(2) };
      };
      fc.assert(
        fc.property(redirects, redirects, (before, after) => {
          const state = applied(shop(domains(before)));
          expect(planned(shop(domains(after)), { state }).problems).to.deep.equal([]);
          const there = applied(shop(domains(after)), state);
          expect(plan(shop(domains(after)), { state: there }).steps).to.deep.equal([]);
        }),
      );
    });
  });

  it('of 200 services takes at most 300 ms', () => {
    const entry = { ...WEB, variables: Object.fromEntries(Array.from({ length: 20 }, (_, i) => [`K${i}`, `v${i}`])) };
    const text = stringify({ services: Object.fromEntries(Array.from({ length: 200 }, (_, i) => [`s${i}`, entry])) });
    const state = applied(text);
    const { wish } = readDocument(text, OWN);
    const started = process.cpuUsage();
    expect(planStack({ stackId: STACK_ID, wish, state, values: {} }).plan.changes).to.deep.equal([]);
    expect(process.cpuUsage(started).user / 1000).to.be.lessThan(300);
  });
});

const NAMES = ['a', 'b', 'c/d', 'e~f', 'g h'];
const KEYS = ['A', 'B', 'C'];
const SCOPES = ['all', 'production', 'preview'] as const;

const variableEntry = fc.oneof(
  fc.string({ maxLength: 5 }),
  fc.record({ value: fc.constantFrom('x', 'y'), scope: fc.constantFrom(...SCOPES) }),
  fc.record({ generate: fc.constantFrom(8, 32) }),
  fc.record({ secret: fc.constant(true as const), scope: fc.constantFrom(...SCOPES) }),
  fc.record({ reference: fc.record({ service: fc.constantFrom(...NAMES), key: fc.constantFrom('HOST', 'PORT') }) }),
);
const someOf = <T>(keys: readonly string[], value: fc.Arbitrary<T>) =>
  fc.dictionary(fc.constantFrom(...keys), value, { maxKeys: keys.length });
const service = (kinds: readonly string[]) =>
  fc.record(
    {
      kind: fc.constantFrom(...kinds),
      archived: fc.boolean(),
      description: fc.constantFrom('', 'text', '"quoted": # text'),
      startCommand: fc.constantFrom('node a.js', 'node b.js'),
      replicas: fc.constantFrom(1, 2),
      ipAllowList: fc.constantFrom([], ['192.0.2.1']),
      repository: fc.constantFrom('', 'https://git.example.com/a.git', 'https://u:t@git.example.com/a.git'),
      variables: someOf(KEYS, variableEntry),
      groups: fc.uniqueArray(fc.constantFrom('x', 'y')),
    },
    { requiredKeys: ['kind'] },
  );
const volumes = someOf(['v', 'w'], fc.record({ sizeGb: fc.constantFrom(1, 2), mountPath: fc.constant('') }));

/** Documents without contradictions: references to what exists, each path and host name once. */
const documents: fc.Arbitrary<StackDocument> = fc
  .record({
    services: someOf(NAMES, fc.record({ entry: service(['web', 'worker']), volumes, domain: fc.boolean() })),
    database: fc.option(service(['postgres', 'redis'])),
    groups: fc.record({ x: fc.record({ variables: someOf(KEYS, variableEntry) }), y: fc.constant({}) }),
  })
  .map(({ services, database, groups }) => {
    const all: Record<string, { kind: string; variables?: Record<string, unknown> }> = {};
    for (const [name, { entry, volumes, domain }] of Object.entries(services)) {
      const paths = Object.fromEntries(
        Object.entries(volumes).map(([key, each]) => [key, { ...each, mountPath: `/${key}` }]),
      );
      const domains = domain && entry.kind === 'web' ? [`${name.replace(/[^a-z]/g, '')}.example.com`] : [];
      const rules = domain && entry.kind === 'web' ? [{ type: 'redirect', from: '/a', to: `/${name.length}` }] : [];
      all[name] = { ...entry, volumes: paths, domains, rules } as never;
    }
    const databases = database === null ? {} : { db: database };
    const dropBroken = (owner: string, variables: Record<string, unknown> = {}) => {
      for (const [key, value] of Object.entries(variables)) {
        const target = (value as { reference?: { service: string } }).reference?.service;
        if (target !== undefined && (target === owner || !(target in all))) delete variables[key];
      }
    };
    for (const [name, entry] of [...Object.entries(all), ...Object.entries(databases)])
      dropBroken(name, entry.variables);
    dropBroken('', groups.x.variables as Record<string, unknown>);
    return { services: all, databases, groups } as unknown as StackDocument;
  });

const isStable = ({ matches, plan: { changes } }: ReturnType<typeof planned>) => {
  expect(changes).to.deep.equal([]);
  expect(matches.adopted).to.deep.equal([]);
};

describe('Plan, apply and pull of random stacks', () => {
  it('leave nothing to do after an apply, whatever was there before', () => {
    fc.assert(
      fc.property(documents, documents, (before, after) => {
        const first = applied(before);
        const attempt = planned(after, { state: first });
        // A document that changes a kind is refused.
        fc.pre(attempt.problems.length === 0);
        isStable(planned(after, { state: applied(after, first) }));
      }),
      { numRuns: 60 },
    );
  });

  it('pull what the apply of it makes again', () => {
    fc.assert(
      fc.property(documents, (document) => {
        const state = applied(document);
        const pulled = stringify(pullStack(state).document);
        isStable(planned(pulled, { state }));
        fc.pre(!pulled.includes('***'));
        expect(pullStack(applied(pulled)).document).to.deep.equal(pullStack(state).document);
      }),
      { numRuns: 60 },
    );
  });

  it('never show a value of a variable', () => {
    fc.assert(
      fc.property(documents, (document) => {
        const marked = stringify(document).replaceAll('value: x', 'value: hidden-marker');
        const state = applied(marked);
        const { steps: _steps, hash: _hash, ...seen } = plan(marked);
        expect(JSON.stringify([seen, pullStack(state)])).not.to.match(/hidden-marker|secret of|gggg/);
      }),
    );
  });
});
