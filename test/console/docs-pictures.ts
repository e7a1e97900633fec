import { mkdir, stat } from 'node:fs/promises';
import { join, resolve } from 'node:path';
import { expect } from 'chai';
import { nodeServer, staticSite } from '../support/apps.js';
import { ConsoleBrowser } from '../support/console.js';
import { ENGINES, type Platform, startPlatform } from '../support/platform.js';
import { createPlatformRepository, type TestRepository } from '../support/repositories.js';

/** Makes the screenshots of docs/reference/console.md. Their size is limited, because every clone contains them. */
const FOLDER = resolve(import.meta.dirname, '../../../docs/images');
const MAX_BYTES = 100_000;

describe('The pictures of docs/reference/console.md', function () {
  this.timeout(300_000);
  let platform: Platform;
  let browser: ConsoleBrowser;
  const repositories: TestRepository[] = [];

  after(async () => {
    await browser?.close();
    await platform?.stop();
    for (const repository of repositories) await repository.remove();
  });

  it('are taken', async () => {
    const [shop, site] = [
      await createPlatformRepository(nodeServer('shop'), 'Fix the cart'),
      await createPlatformRepository(staticSite('docs'), 'Describe the cart'),
    ];
    repositories.push(shop, site);
    platform = await startPlatform({ engine: ENGINES[0] ?? 'postgres' });
    const { client } = platform;
    const create = async (name: string, kind: string, repository: TestRepository, more: Record<string, unknown> = {}) =>
      (
        await client.expect<{ service: { id: string } }>('POST', '/services', {
          name,
          kind,
          deploy: true,
          configuration: { repository: repository.url, plan: kind === 'web' ? 'standard' : 'starter', ...more },
        })
      ).service.id;
    const ids = [
      await create('shop', 'web', shop),
      await create('mailer', 'worker', shop, { startCommand: 'node server.js' }),
      await create('docs', 'static', site),
    ];
    const [shopId, mailerId, docsId] = ids;
    await client.expect('PUT', `/services/${shopId}/variables`, {
      set: [
        { key: 'GREETING', value: 'hello' },
        { key: 'SESSION_SECRET', value: 'not shown to anybody' },
      ],
    });
    await client.expect('POST', `/services/${mailerId}/variables`, {
      key: 'GREETING',
      reference: { serviceId: shopId, key: 'GREETING' },
    });
    await client.expect('PATCH', '/canvas', {
      revision: 0,
      positions: {
        [shopId ?? '']: { x: 0, y: 0 },
        [mailerId ?? '']: { x: 400, y: 120 },
        [docsId ?? '']: { x: 0, y: 200 },
      },
      viewport: { x: 120, y: 130, zoom: 1 },
    });
    browser = await ConsoleBrowser.onPlatform(platform);
    const window = await browser.signedIn();
    const { page } = window;
    await page.setViewportSize({ width: 1120, height: 560 });
    await mkdir(FOLDER, { recursive: true });
    const take = async (name: string) => {
      const path = join(FOLDER, `${name}.png`);
      await page.screenshot({ path });
      expect((await stat(path)).size, name).to.be.below(MAX_BYTES);
    };
    for (const name of ['shop', 'mailer', 'docs']) {
      await page
        .getByRole('group', { name: new RegExp(`^${name},`) })
        .getByText('Live')
        .waitFor({ timeout: 120_000 });
    }
    await page.getByRole('group', { name: /^shop,/ }).click();
    await page.getByRole('complementary').waitFor();
    await take('canvas');
    await page.getByRole('complementary').getByRole('button', { name: 'Deploy' }).click();
    await page.getByText('Deployment live').waitFor({ timeout: 120_000 });
    await page
      .getByText(/usually/)
      .first()
      .waitFor();
    await take('deployment');
    await window.follow(/^Pages of/, 'Variables');
    await page.getByRole('button', { name: 'Add from .env' }).click();
    await page.getByLabel('Contents of the .env file').fill('GREETING=hi\nCART_LIMIT=20\n');
    await page.getByRole('button', { name: 'Add 2' }).click();
    await page.getByText('1 new, 1 replaced').waitFor();
    await take('variables');
    await page.getByRole('button', { name: 'Discard' }).click();
    await window.follow(/^Pages of/, 'Webhooks');
    for (const provider of ['generic', 'github']) {
      await page.getByLabel('Provider').selectOption(provider);
      await page.getByRole('button', { name: 'Add webhook' }).click();
      await page.getByRole('button', { name: 'Done' }).click();
      await page.getByRole('dialog').waitFor({ state: 'detached' });
    }
    await platform.database
      .db('hooks')
      .where({ provider: 'github' })
      .update({ delivered_at: new Date(), outcome: 'a deployment of main is queued' });
    await page.reload();
    await page.getByText('a deployment of main is queued').waitFor();
    await take('hooks');
    await window.follow('Workspace', 'Workspace');
    await window.follow('Pages of the workspace', 'Usage');
    await page.getByRole('cell', { name: 'mailer' }).waitFor();
    await take('usage');
  });
});
