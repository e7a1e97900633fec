import { expect } from 'chai';
import { type Template, templates } from '../../api/resources/stacks/templates/catalog.js';
import type { Json } from '../support/api.js';
import { deployTemplate, reasonAgainst } from '../support/deploy-template.js';
import { type Platform, usePlatform } from '../support/platform.js';

/** `npm run check:templates` deploys the others. */
const NAME = 'node-red';

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
});
