import { Client } from '@modelcontextprotocol/client';
import { StdioClientTransport } from '@modelcontextprotocol/client/stdio';
import { expect } from 'chai';
import { nodeServer } from '../support/apps.js';
import { type Platform, usePlatform } from '../support/platform.js';
import { eventually } from '../support/processes.js';
import { Rnv } from '../support/rnv.js';

describe('An agent that starts rnv mcp', function () {
  this.timeout(120_000);
  let platform: Platform;
  let rnv: Rnv;
  let client: Client;

  usePlatform({ engine: 'postgres' }, async (started) => {
    platform = started;
    rnv = await Rnv.create();
    const env = { RNV_URL: `http://127.0.0.1:${platform.apiPort}`, RNV_KEY: platform.client.key };
    client = new Client({ name: 'test', version: '1' });
    await client.connect(new StdioClientTransport(rnv.command(['mcp'], env)));
  });
  after(async () => {
    await client?.close();
    await rnv?.remove();
  });

  async function call(name: string, values: Record<string, unknown>) {
    const { content } = await client.callTool({ name, arguments: values });
    return JSON.parse((content as { text: string }[])[0]?.text ?? '');
  }

  it('deploys a repository and reads its log', async () => {
    const files = nodeServer('hello from an agent');
    const repository = await platform.repositoryOf({
      ...files,
      'server.js': `console.log('line of the log');\n${files['server.js']}`,
    });
    const given = { kind: 'web', name: 'Agent', configuration: { repository: repository.url } };
    const { service } = await call('service_create', given);
    const serviceId: string = service.id;
    const { deployment } = await call('deployment_create', { serviceId });
    const deploymentId: string = deployment.id;
    await eventually('the deployment is live', async () => {
      const read = await call('deployment_read', { serviceId, deploymentId });
      return read.deployment.status === 'live';
    });
    expect((await platform.visit(service)).body).to.equal('hello from an agent');
    await eventually('the log has the line', async () => {
      const { items } = await call('log_read', { serviceId, source: 'runtime', limit: 50 });
      return items.some(({ message }: { message: string }) => message === 'line of the log');
    });
    const { prompts } = await client.listPrompts();
    expect(prompts.map(({ name }) => name)).to.deep.equal(['explain_failed_deployment']);
    expect(client.getInstructions()).to.contain('deployment_create');
  });
});
