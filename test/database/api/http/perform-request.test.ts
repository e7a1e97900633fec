import { expect } from 'chai';
import type { ApiDeps } from '../../../../api/http/api-deps.js';
import { perform } from '../../../../api/http/perform-request.js';
import { ReceiptQuota } from '../../../../api/http/receipt-quota.js';
import type { Route, SignInLimits, WriteRequest } from '../../../../api/http/route.js';
import type { AuditRow } from '../../../../shared/audit/store.js';
import type { WorkspaceRow } from '../../../../shared/workspaces/model.js';
import { makeWorkspace } from '../../../support/factories.js';
import { useTestDatabase } from '../../../support/postgres.js';

describe('A write of the API', () => {
  const database = useTestDatabase();
  let workspace: WorkspaceRow;
  let woken: number;
  let performed: number;
  let work: (request: WriteRequest) => Promise<unknown>;
  beforeEach(async () => {
    workspace = await makeWorkspace(database.db);
    [woken, performed] = [0, 0];
    work = async () => ({ number: performed });
  });

  interface Sent {
    key?: string;
    body?: object;
    user?: string;
    credential?: string;
    id?: string;
    of?: WorkspaceRow;
  }

  const idOf = (name: string) =>
    `00000000-0000-4000-8000-${Buffer.from(name).toString('hex').slice(-12).padStart(12, '0')}`;

  async function send({ key, body = {}, user = 'u', credential = 'c', id = 'one', of = workspace }: Sent) {
    const headers: Record<string, string> = {};
    const route = {
      access: 'key or session',
      method: 'POST',
      path: '/things/:id',
      status: 201,
      keyed: true,
      operation: 'service.create',
      handler: (request: WriteRequest) => {
        performed++;
        return work(request);
      },
    };
    const ctx = {
      state: {
        route,
        caller: { kind: 'key', email: 'u@example.com', userId: idOf(user), credentialId: idOf(credential) },
        requestId: 'request',
        workspace: { row: of },
        input: { body, params: { id: idOf(id) } },
      },
      req: { headers: {}, socket: { remoteAddress: '192.0.2.1' } },
      headers: key === undefined ? {} : { 'idempotency-key': key },
      get: () => key ?? '',
      set: (name: string, value: string) => {
        headers[name] = value;
      },
    } as unknown as { status: number; body: string };
    const deps = {
      config: { trustProxy: false },
      db: database.db,
      receipts: new ReceiptQuota(),
      dispatcher: { wake: () => woken++ },
    };
    const step = perform(deps as unknown as ApiDeps, {} as SignInLimits, route as unknown as Route);
    try {
      await step(ctx as never);
    } catch (error) {
      return { code: (error as { code?: string }).code ?? String(error) };
    }
    return { status: ctx.status, body: ctx.body, replayed: headers['Idempotency-Replayed'] };
  }

  it('is performed once for a key, and its answer is replayed', async () => {
    expect(await send({ key: 'k', body: { a: 1, b: [2] } })).to.deep.equal({
      status: 201,
      body: '{"number":1}',
      replayed: 'false',
    });
    expect(await send({ key: 'k', body: { b: [2], a: 1 } }), 'the order of keys does not matter').to.deep.equal({
      status: 201,
      body: '{"number":1}',
      replayed: 'true',
    });
    expect(await send({ key: 'k', body: { a: 2 } })).to.deep.equal({ code: 'idempotency_conflict' });
    expect(performed).to.equal(1);
  });

  it('has a receipt for each workspace, user, credential and path', async () => {
    const of = await makeWorkspace(database.db);
    for (const other of [{}, { user: 'v' }, { credential: 'd' }, { id: 'two' }, { of }]) {
      expect(await send({ key: 'k', ...other }), JSON.stringify(other)).to.include({ replayed: 'false' });
    }
    expect(performed).to.equal(5);
  });

  it('is performed each time without a key', async () => {
    expect(await send({})).to.deep.equal({ status: 201, body: '{"number":1}', replayed: undefined });
    expect(await send({})).to.include({ body: '{"number":2}' });
  });

  it('is performed once by two requests that come at the same time', async () => {
    const answers = await Promise.all([send({ key: 'k' }), send({ key: 'k' }), send({ key: 'k' })]);
    expect(answers.map(({ body }) => body)).to.deep.equal(Array(3).fill('{"number":1}'));
    expect(performed).to.equal(1);
  });

  it('that fails leaves nothing behind, neither what it wrote nor a receipt', async () => {
    const name = () => database.db('workspaces').where({ id: workspace.id }).first('name');
    work = async ({ trx, wakeDispatcher }) => {
      await trx('workspaces').where({ id: workspace.id }).update({ name: 'changed' });
      wakeDispatcher();
      throw new Error('broken');
    };
    expect(await send({ key: 'k' })).to.deep.equal({ code: 'Error: broken' });
    expect(await name()).to.deep.equal({ name: 'Workspace' });
    expect(woken, 'nothing was committed').to.equal(0);
    work = async ({ wakeDispatcher }) => {
      wakeDispatcher();
      return {};
    };
    expect(await send({ key: 'k' })).to.include({ replayed: 'false' });
    expect(woken).to.equal(1);
  });

  it('adds one entry to the audit log, in its own transaction; a replay and a failure add none', async () => {
    const entries = () => database.db<AuditRow>('audit_entries').where({ workspace_id: workspace.id });
    const record = { id: idOf('service'), name: 'shop', token: 'hidden' };
    work = async () => ({ service: record, secret: 'hidden' });
    await send({ key: 'k', body: { value: 'hidden' } });
    await send({ key: 'k', body: { value: 'hidden' } });
    work = async () => {
      throw new Error('broken');
    };
    await send({});
    const [entry, ...others] = await entries();
    expect(others).to.deep.equal([]);
    expect(JSON.stringify(entry)).to.not.include('hidden');
    expect(entry).to.include({
      actor: 'u@example.com',
      user_id: idOf('u'),
      credential: 'key',
      credential_id: idOf('c'),
      operation: 'service.create',
      path: `/things/${idOf('one')}`,
      target_id: idOf('one'),
      request_id: 'request',
    });
  });

  it('is tried again after a deadlock, and not after another error', async () => {
    const failing = (code: string) => async () => {
      if (performed < 3) throw Object.assign(new Error('the database'), { code });
      return {};
    };
    work = failing('40P01');
    expect(await send({})).to.include({ status: 201 });
    expect(performed).to.equal(3);
    performed = 0;
    work = failing('23505');
    expect(await send({})).to.deep.equal({ code: '23505' });
    expect(performed).to.equal(1);
  });

  it('with a malformed key, or a requestId that differs from it, is refused', async () => {
    for (const key of ['', 'a b', 'ü', 'x'.repeat(161)]) {
      expect(await send({ key }), key).to.deep.equal({ code: 'invalid_request' });
    }
    expect(await send({ key: 'k', body: { requestId: 'other' } })).to.deep.equal({ code: 'invalid_request' });
    expect(performed).to.equal(0);
  });
});
