import { expect } from 'chai';
import fc from 'fast-check';
import {
  decideVolume,
  derivedName,
  offeredValue,
  postgresSettings,
  redisConfiguration,
  redisMemoryBytes,
  type StorageState,
  serverNames,
  storageBytes,
  storageState,
} from '../../../../shared/data/model.js';
import { configurationProblems, DEFAULT_CONFIGURATION } from '../../../../shared/services/configuration.js';
import { nameProblem } from '../../../../shared/services/database-name.js';
import { DATABASE_PLANS, estimatedMonthly, limitsOf } from '../../../../shared/services/plan-catalog.js';

describe('Names of databases and their users', () => {
  it('that PostgreSQL or the platform reserves are refused', () => {
    for (const name of [
      ...['postgres', 'Template0', 'template1', 'pg_monitor', 'PG_x', 'ranvier_admin', 'public', 'none'],
    ]) {
      expect(nameProblem(name), name).to.be.a('string');
    }
    for (const name of ['shop', 'orders_2', '_x', 'postgres2']) expect(nameProblem(name), name).to.equal(null);
  });

  it('come from the slug where the configuration has none, and are never reserved', () => {
    expect(derivedName('my-shop')).to.equal('my_shop');
    expect(derivedName('postgres')).to.equal('db_postgres');
    expect(derivedName('1st')).to.equal('db_1st');
    fc.assert(
      fc.property(fc.stringMatching(/^[a-z0-9](-?[a-z0-9]){0,60}$/), (slug) => {
        const name = derivedName(slug);
        return /^[a-z_][a-z0-9_]{0,62}$/.test(name) && nameProblem(name) === null;
      }),
    );
  });

  it('databaseName, databaseUser and databaseVersion are those of the configuration', () => {
    const wanted = {
      ...DEFAULT_CONFIGURATION,
      databaseName: 'shop',
      databaseUser: 'clerk',
      databaseVersion: '17',
    } as const;
    expect(serverNames('postgres', 'db', wanted)).to.deep.equal({ version: '17', database: 'shop', user: 'clerk' });
    expect(serverNames('postgres', 'db', { ...wanted, databaseUser: '' })).to.include({ user: 'shop' });
    expect(serverNames('redis', 'cache', wanted)).to.deep.equal({ version: '', database: '', user: 'default' });
  });

  it('are checked for services of kind postgres only', () => {
    const configuration = { ...DEFAULT_CONFIGURATION, databaseName: 'postgres', databaseUser: 'pg_x' };
    expect(configurationProblems('postgres', configuration).map(({ path }) => path)).to.deep.equal([
      '/configuration/databaseName',
      '/configuration/databaseUser',
    ]);
    expect(configurationProblems('web', configuration)).to.deep.equal([]);
  });
});

describe('What a database offers', () => {
  const server = { host: 'db', port: 5432, user: 'clerk', password: 'p/w', database: 'shop' };

  it('has a URL that contains the rest', () => {
    expect(offeredValue({ kind: 'postgres', ...server }, 'URL')).to.equal('postgresql://clerk:p%2Fw@db:5432/shop');
    expect(offeredValue({ kind: 'redis', ...server }, 'URL')).to.equal('redis://clerk:p%2Fw@db:5432');
    const keys = ['HOST', 'PORT', 'USER', 'PASSWORD', 'DATABASE'];
    expect(keys.map((key) => offeredValue({ kind: 'postgres', ...server }, key))).to.deep.equal([
      'db',
      '5432',
      'clerk',
      'p/w',
      'shop',
    ]);
    expect(offeredValue({ kind: 'redis', ...server }, 'DATABASE')).to.equal(undefined);
    expect(offeredValue({ kind: 'postgres', ...server }, 'SECRETS')).to.equal(undefined);
  });
});

describe('The volume of a database', () => {
  const service = { serviceId: 'me', version: '16' };
  const volume = { initialized: true, marker: 'me', hasData: true, dataVersion: '16' };

  it('gets data once in the life of its service', () => {
    const fresh = { initialized: false, marker: null, hasData: false, dataVersion: null };
    expect(decideVolume(fresh, service)).to.deep.equal({ type: 'initialize' });
    // A worker died after it made the data and before it recorded that.
    expect(decideVolume({ ...volume, initialized: false }, service)).to.deep.equal({ type: 'start' });
    expect(decideVolume(volume, service)).to.deep.equal({ type: 'start' });
  });

  it('that lost its marker or its data, or is another one, is refused with the reason', () => {
    const refused = (changes: object) => decideVolume({ ...volume, ...changes }, service);
    expect(refused({ marker: null })).to.deep.include({ type: 'refuse' });
    expect(refused({ marker: null, hasData: false, dataVersion: null })).to.deep.include({ type: 'refuse' });
    expect(refused({ hasData: false, dataVersion: null })).to.deep.include({ type: 'refuse' });
    expect(refused({ marker: 'other' }))
      .to.have.property('reason')
      .that.includes('other');
    expect(refused({ dataVersion: '15' }))
      .to.have.property('reason')
      .that.includes('15');
  });

  it('is never filled again once it had data', () => {
    fc.assert(
      fc.property(
        fc.option(fc.constantFrom('me', 'other')),
        fc.boolean(),
        fc.option(fc.constantFrom('15', '16')),
        (marker, hasData, dataVersion) =>
          decideVolume({ initialized: true, marker, hasData, dataVersion }, service).type !== 'initialize',
      ),
    );
  });
});

describe('The storage bound of a database', () => {
  const bound = 1000;

  it('makes transactions read-only from 90 per cent on, and closes the database at 100', () => {
    const states = [0, 899, 900, 999, 1000, 2000].map((used) => storageState(used, bound, 'open'));
    expect(states).to.deep.equal(['open', 'open', 'read_only', 'read_only', 'closed', 'closed']);
  });

  it('is lifted only well below the bound, so that it does not come and go', () => {
    expect(storageState(899, bound, 'read_only')).to.equal('read_only');
    expect(storageState(870, bound, 'read_only')).to.equal('open');
    expect(storageState(990, bound, 'closed')).to.equal('closed');
    expect(storageState(960, bound, 'closed')).to.equal('read_only');
  });

  it('never allows more with more data', () => {
    const strict = (state: StorageState) => ['open', 'read_only', 'closed'].indexOf(state);
    fc.assert(
      fc.property(
        fc.nat(2000),
        fc.nat(2000),
        fc.constantFrom<StorageState>('open', 'read_only', 'closed'),
        (a, b, before) => {
          const [less, more] = [Math.min(a, b), Math.max(a, b)];
          return strict(storageState(less, bound, before)) <= strict(storageState(more, bound, before));
        },
      ),
    );
  });
});

describe('The settings of a server', () => {
  it('of PostgreSQL fit into the memory and the storage of the plan', () => {
    for (const { id, memoryMb, maxConnections, storageGb } of DATABASE_PLANS) {
      const settings = postgresSettings(id);
      const megabytes = (name: string) => Number.parseInt(settings[name] ?? '', 10);
      expect(megabytes('max_connections')).to.equal(maxConnections + 5);
      expect(megabytes('shared_buffers') + megabytes('work_mem') * maxConnections, id).to.be.at.most(memoryMb * 0.75);
      expect(megabytes('max_slot_wal_keep_size'), id).to.be.at.most(storageGb * 1024);
      expect(limitsOf('postgres', id))
        .to.include({ memoryMb })
        .and.have.property('pids')
        .that.is.above(maxConnections + 5);
    }
  });

  it('of redis follow evictionPolicy, bound the memory below the plan, and rewrite the file early', () => {
    for (const { id, memoryMb } of DATABASE_PLANS) {
      expect(redisMemoryBytes(id), id).to.be.below(memoryMb * 1024 * 1024 * 0.5);
      expect(redisMemoryBytes(id) * 6 + 64 * 1024 * 1024, id).to.be.at.most(storageBytes(id));
    }
    const settings = {
      planId: 'free',
      folder: '/v "x"',
      port: 6379,
      bind: '0.0.0.0',
      passwordHash: 'aa',
      adminHash: 'bb',
    };
    const text = redisConfiguration({ ...settings, evictionPolicy: 'volatile-ttl' }).split('\n');
    expect(text).to.include('maxmemory-policy volatile-ttl');
    expect(text).to.include('dir "/v \\"x\\""');
    expect(text).to.include('appendonly yes');
    expect(text.find((line) => line.startsWith('user default'))).to.match(/^user default on #aa .*-@admin -@dangerous/);
  });

  it('costs one server, whatever replicas says', () => {
    expect(estimatedMonthly('postgres', 'starter', 7)).to.include({ usd: 10 });
  });
});
