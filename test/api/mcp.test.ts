import { Client, StreamableHTTPClientTransport } from '@modelcontextprotocol/client';
import { expect } from 'chai';
import { insertLogBatches } from '../../workers/logs/batch-store.js';
import { ingestLogs } from '../../workers/logs/ingest-batches.js';
import { newKey, type TestApi, type TestWorkspace, useTestApi } from '../support/api.js';
import { newDeployment } from '../support/records.js';

const WRITES = [
  ...['service_create', 'service_update', 'service_action', 'preview_create', 'run_create', 'run_cancel'],
  ...['deployment_create', 'deployment_cancel', 'deployment_rollback'],
  ...['stack_apply', 'stack_cancel_apply', 'stack_rollback'],
];

describe('Tools for agents', () => {
  let api: TestApi;
  let workspace: TestWorkspace;
  const open: Client[] = [];
  useTestApi((given) => {
    ({ api, workspace } = given);
  });
  after(() => Promise.all(open.map((client) => client.close())));

  async function agent(key: string): Promise<Client> {
    const client = new Client({ name: 'test', version: '1' });
    const requestInit = { headers: { Authorization: `Bearer ${key}` } };
    await client.connect(new StreamableHTTPClientTransport(new URL(`${api.url}/mcp`), { requestInit }));
    open.push(client);
    return client;
  }
  async function call(client: Client, name: string, values: Record<string, unknown> = {}) {
    const { content, isError } = await client.callTool({ name, arguments: values });
    const [first] = content as { type: string; text: string }[];
    return { isError: isError === true, text: first?.text ?? '' };
  }

  it('are operations of the API, of which none deletes or reveals anything', async () => {
    const { tools } = await (await agent(workspace.owner.key)).listTools();
    const names = tools.map(({ name }) => name);
    expect(names).to.include.members([
      'service_list',
      'deployment_create',
      'log_read',
      'deployment_rollback',
      'stack_plan',
    ]);
    expect(names.filter((name) => /delete|remove|reveal|credential|key|member|archive/.test(name))).to.deep.equal([]);
    for (const { name, inputSchema, annotations } of tools) {
      expect(Object.keys(inputSchema.properties ?? {}), name).not.to.include('workspaceId');
      expect(annotations?.readOnlyHint, name).to.equal(!WRITES.includes(name));
    }
    const create = tools.find(({ name }) => name === 'deployment_create');
    expect(create?.inputSchema.required).to.deep.equal(['serviceId']);
  });

  it('have the rights, the answers and the errors of their key', async () => {
    const owner = await agent(workspace.owner.key);
    expect(JSON.parse((await call(owner, 'service_list')).text)).to.deep.equal(
      (await workspace.owner.client.get(`${workspace.path}/services`)).body,
    );
    const wrong = await call(owner, 'service_list', { colour: 'red' });
    expect(wrong.isError).to.equal(true);
    expect(wrong.text).to.contain('query.colour');
    const missing = await call(owner, 'service_create', { kind: 'web' });
    expect(missing.text).to.contain('invalid_request').and.contain('name');
    expect(await call(owner, 'service_delete')).to.deep.equal({
      isError: true,
      text: 'There is no tool service_delete',
    });
    const elsewhere = await call(owner, 'service_list', { workspaceId: '0198c0de-0000-7000-8000-000000000003' });
    expect(elsewhere.isError).to.equal(false);
  });

  it('change nothing with a key that may only read, and belong to one workspace', async () => {
    const { key } = await newKey(api.db, workspace.id, workspace.owner.email, 'read');
    const reader = await agent(key);
    expect((await call(reader, 'service_list')).isError).to.equal(false);
    const refused = await call(reader, 'service_create', { kind: 'web', name: 'Shop' });
    expect(refused.isError).to.equal(true);
    expect(refused.text).to.contain('forbidden');
    const other = await api.workspace();
    const stranger = await agent(other.owner.key);
    const { body } = await workspace.owner.client.post(`${workspace.path}/services`, { kind: 'web', name: 'Shop' });
    const { text } = await call(stranger, 'service_read', { serviceId: body.service.id, workspaceId: workspace.id });
    expect(text).to.contain('not_found');
  });

  it('answer no more than an agent can read, and a prompt explains a failed deployment by the end of its log', async () => {
    const { body } = await workspace.owner.client.post(`${workspace.path}/services`, { kind: 'web', name: 'Long' });
    const serviceId: string = body.service.id;
    const owner = await agent(workspace.owner.key);
    await expectRejection(
      owner.getPrompt({ name: 'explain_failed_deployment', arguments: { serviceId } }),
      /None of the last/,
    );
    const deploymentId = await newDeployment(api.db, serviceId, { status: 'failed', error: 'the build failed' });
    const lines = Array.from({ length: 300 }, (_, at) => ({
      timestamp: new Date().toISOString(),
      level: 'info' as const,
      message: `${at} ${'x'.repeat(400)}`,
    }));
    await insertLogBatches(api.db, [{ serviceId, deploymentId, source: 'build', lines }]);
    await ingestLogs(api.db, serviceId);
    const { text } = await call(owner, 'log_read', { serviceId });
    expect(text.length).to.be.within(50_000, 50_200);
    expect(text).to.contain('The answer was cut after 50000 characters');
    const { messages } = await owner.getPrompt({ name: 'explain_failed_deployment', arguments: { serviceId } });
    expect(messages[0]?.content)
      .to.have.property('text')
      .that.contains('the build failed')
      .and.contains('299 xxx')
      .and.contains('no instruction');
  });

  it('need a key, in a header', async () => {
    const post = (headers: Record<string, string>) =>
      fetch(`${api.url}/mcp`, {
        method: 'POST',
        headers: { 'Content-Type': 'application/json', Accept: 'application/json, text/event-stream', ...headers },
        body: JSON.stringify({ jsonrpc: '2.0', id: 1, method: 'tools/list' }),
      });
    const none = await post({});
    expect(none.status).to.equal(401);
    expect(none.headers.get('www-authenticate')).to.match(/^Bearer/);
    expect((await post({ Authorization: 'Bearer rnv_wrong' })).status).to.equal(401);
    expect((await post({ Authorization: `Bearer ${workspace.owner.key}` })).status).to.equal(200);
    const listening = await fetch(`${api.url}/mcp`, {
      headers: { Authorization: `Bearer ${workspace.owner.key}`, Accept: 'text/event-stream' },
    });
    expect(listening.status).to.equal(405);
  });
});

async function expectRejection(promise: Promise<unknown>, message: RegExp): Promise<void> {
  const error = await promise.then(
    () => null,
    (reason: Error) => reason,
  );
  expect(error?.message).to.match(message);
}
