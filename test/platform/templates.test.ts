import { expect } from 'chai';
import { templates } from '../../api/resources/stacks/templates/catalog.js';
import type { Template } from '../../shared/templates/read-template.js';
import type { Json } from '../support/api.js';
import { deployTemplate, reasonAgainst } from '../support/deploy-template.js';
import { type Platform, usePlatform } from '../support/platform.js';
import { eventually } from '../support/processes.js';
import { createPlatformRepository } from '../support/repositories.js';

/** `npm run check:templates` deploys the other templates. */
const NAME = 'node-red';

const OWN = `
title: Hello
description: A page
categories: [Examples]
website: https://hello.example.com
source: https://git.example.com/hello
version: 1.0.0
memoryMb: 50
questions: [{ name: greeting, label: The greeting, example: Good morning }]
stack:
  services:
    hello:
      kind: web
      repository: starter:node
      buildCommand: |
        cat > server.js <<'END'
        require('node:http').createServer((_, answer) => answer.end(process.env.GREETING)).listen(process.env.PORT);
        END
      startCommand: node server.js
      variables: { GREETING: "\${greeting}" }
`;

describe('A template', function () {
  this.timeout(600_000);
  let platform: Platform;
  let reason: string | null;
  usePlatform({ engine: 'postgres' }, async (started) => {
    platform = started;
    reason = await reasonAgainst(templates().get(NAME) as Template);
  });

  it('is installed from npm by its plan and its apply, and answers visitors', async function () {
    if (reason !== null) this.skip();
    const { project } = await platform.client.expect<Json>('POST', '/projects', { name: 'Flows', color: 'blue' });
    const [environment] = project.environments;
    const service = await deployTemplate(platform, NAME, environment.id);
    const page = await platform.visit(service);
    expect(page.status, page.body).to.equal(200);
    expect(page.body).to.contain('Node-RED');
    expect((await platform.visit(service, '/flows')).status).to.equal(401);
    const { plan } = await platform.client.expect<Json>('POST', '/stacks/plan', {
      ...{ name: NAME, template: NAME },
    });
    expect(plan.changes).to.deep.equal([]);
  });

  it('comes from a repository of the workspace, which a worker reads', async () => {
    const { client } = platform;
    const repository = await createPlatformRepository({ '.ranvier/templates/hello.yaml': OWN });
    try {
      await client.expect('POST', '/template-sources', { name: 'team', repository: repository.url });
      await eventually('the templates are read', async () => {
        const { templateSources } = await client.expect<Json>('GET', '/template-sources');
        expect(templateSources[0].error).to.equal('');
        return templateSources[0].state === 'ready';
      });
      const { project } = await client.expect<Json>('POST', '/projects', { name: 'Hello', color: 'blue' });
      const [environment] = project.environments;
      const service = await deployTemplate(platform, 'team.hello', environment.id);
      expect((await platform.visit(service)).body).to.equal('Good morning');
    } finally {
      await repository.remove();
    }
  });
});
