import { createSocket, type Socket } from 'node:dgram';
import { once } from 'node:events';
import { expect } from 'chai';
import { newService, type TestApi, type TestWorkspace, useTestApi } from '../support/api.js';
import { eventually } from '../support/processes.js';

/** More requests than a workspace may have in progress at once. */
const AT_ONCE = 6;

describe('While requests of three workspaces wait for the network', () => {
  let api: TestApi;
  let workspace: TestWorkspace;
  let hostile: { workspace: TestWorkspace; path: string }[];
  useTestApi(async (started) => {
    ({ api, workspace } = started);
    hostile = [];
    for (let i = 0; i < 3; i++) {
      const workspace = await api.workspace();
      const service = await newService(workspace.owner.client, workspace.path);
      hostile.push({ workspace, path: `${workspace.path}/services/${service.id}` });
    }
  });

  async function othersFirst(answered: () => number) {
    const { status } = await workspace.owner.client.get(`${workspace.path}/services`);
    expect([status, answered()]).to.deep.equal([200, 0]);
  }

  /** Sends enough writes of each workspace to use up its turns. `answered` counts those that were answered. */
  function send(path: (one: (typeof hostile)[number]) => string) {
    let answered = 0;
    const sent = hostile.flatMap((one) =>
      Array.from({ length: AT_ONCE }, async () => {
        await one.workspace.owner.client.post(path(one), {});
        answered += 1;
      }),
    );
    return { answers: Promise.all(sent), answered: () => answered };
  }

  it('for name servers, others are answered', async () => {
    const server: Socket = createSocket('udp4').bind(0, '127.0.0.1');
    await once(server, 'listening');
    let asked = 0;
    server.on('message', () => {
      asked += 1;
    });
    api.config.dnsServers = [`127.0.0.1:${server.address().port}`];
    const domains = new Map<string, string>();
    for (const { workspace, path } of hostile) {
      const { body } = await workspace.owner.client.post(`${path}/domains`, { hostname: 'slow.test' });
      domains.set(path, body.domain.id);
    }
    try {
      const { answers, answered } = send(({ path }) => `${path}/domains/${domains.get(path)}/verify`);
      await eventually('every one asked', () => asked >= 3 * AT_ONCE);
      await othersFirst(answered);
      await answers;
    } finally {
      server.close();
    }
  });

  it('for the engine, others are answered', async () => {
    const { ping } = api.engine;
    const hanging: (() => void)[] = [];
    api.engine.ping = () => new Promise((resolve) => hanging.push(resolve));
    try {
      const { answers, answered } = send(({ path }) => `${path}/deploys`);
      await eventually('every one asked', () => hanging.length === 3 * AT_ONCE);
      await othersFirst(answered);
      for (const end of hanging) end();
      await answers;
    } finally {
      api.engine.ping = ping;
    }
  });
});
