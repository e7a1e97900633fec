import { expect } from 'chai';
import { nodeServer } from '../support/apps.js';
import { visit } from '../support/client.js';
import { ConsoleBrowser, describeConsole, type Window } from '../support/console.js';
import { ENGINES, type Platform, startPlatform } from '../support/platform.js';
import { createPlatformRepository, type TestRepository } from '../support/repositories.js';

describeConsole('The whole way through the console', () => {
  let platform: Platform;
  let repository: TestRepository;
  let browser: ConsoleBrowser;
  let window: Window;

  before(async () => {
    repository = await createPlatformRepository(
      {
        ...nodeServer('one'),
        'build.js': `for (let i = 0; i < 200; i++) console.log('\\x1b[32mcompiled\\x1b[0m part ' + i)`,
      },
      'Say one',
    );
    platform = await startPlatform({ engine: ENGINES[0] ?? 'postgres' });
    browser = await ConsoleBrowser.onPlatform(platform);
    window = await browser.signedIn();
  });
  after(async () => {
    await browser?.close();
    await platform?.stop();
    await repository?.remove();
  });

  const tab = (name: string) => window.follow(/^Pages of/, name);

  it('creates a service and watches it go live', async () => {
    const { page } = window;
    await page.getByText('No services yet').waitFor();
    await window.look('canvas-empty');
    await page.getByRole('banner').getByRole('link', { name: 'New service' }).click();
    await page.getByLabel('Repository URL').fill(repository.url);
    await page.getByText('Detected at commit').waitFor();
    await page.getByLabel('Name').fill('shop');
    await page.getByText('Advanced').click();
    await page.getByLabel('Build command').fill('node build.js');
    await page.getByLabel('Variables').fill('# comment\nGREETING="hello world"');
    await window.look('new');
    await page.getByRole('button', { name: 'Deploy', exact: true }).click();
    await page.getByText('Deployment live').waitFor({ timeout: 120_000 });
    await page.getByText('compiled').first().waitFor();
    await window.look('deployment-live');
    expect((await visit('http://shop.localhost', platform.edgePort)).body).to.equal('one');
    const { body } = await visit('http://shop.localhost', platform.edgePort, '/env');
    expect(JSON.parse(body)).to.include({ GREETING: 'hello world' });
  });

  it('breaks it, reads why, and rolls back', async () => {
    const { page } = window;
    await repository.commit('Break the build', {
      'build.js': `console.error('src/cart.ts(12,3): error TS2322'); process.exit(1)`,
    });
    await page.getByRole('button', { name: 'Deploy', exact: true }).click();
    await page.getByText('The previous release is still serving.').waitFor({ timeout: 120_000 });
    await page.getByText('src/cart.ts(12,3): error TS2322').first().waitFor();
    await window.look('deployment-failed');
    await repository.commit('Mend the build', { ...nodeServer('two'), 'build.js': '' });
    await page.getByRole('button', { name: 'Deploy', exact: true }).click();
    await page.getByText('Deployment live').waitFor({ timeout: 120_000 });
    await tab('Deployments');
    await window.look('deployments');
    await page.getByRole('link', { name: /Say one/ }).click();
    await page.getByRole('button', { name: 'Roll back' }).click();
    await page.getByLabel('Type shop to confirm').fill('shop');
    await window.look('rollback');
    await page.getByRole('button', { name: 'Roll back', exact: true }).click();
    await page.getByText('Deployment live').waitFor({ timeout: 120_000 });
    expect((await visit('http://shop.localhost', platform.edgePort)).body).to.equal('one');
  });

  it('compares two deployments', async () => {
    await tab('Deployments');
    await window.page.getByRole('link', { name: 'Compare' }).click();
    await window.page.getByRole('cell', { name: 'Commit' }).waitFor();
    await window.look('compare');
  });

  it('edits variables, asks before it loses them, and never shows a value', async () => {
    const { page } = window;
    await tab('Variables');
    await page.getByRole('button', { name: 'Add from .env' }).click();
    await page.getByLabel('Contents of the .env file').fill('GREETING=changed\nTOKEN=s3cret-of-the-shop\n');
    await page.getByText('New: TOKEN').waitFor();
    await window.look('variables-paste');
    await page.getByRole('button', { name: 'Add 2' }).click();
    await page.getByText('1 new, 1 replaced').waitFor();
    await tab('Logs');
    await page.getByText('Leave without saving?').waitFor();
    await page.getByRole('button', { name: 'Stay' }).click();
    await window.look('variables');
    await page.getByRole('button', { name: 'Save', exact: true }).click();
    await page.getByText('They take effect with the next deployment').waitFor();
    expect(await page.content()).to.not.include('s3cret-of-the-shop');
    await page.getByRole('button', { name: 'Deploy now' }).click();
    await page.getByText('Deployment live').waitFor({ timeout: 120_000 });
    const { body } = await visit('http://shop.localhost', platform.edgePort, '/env');
    expect(JSON.parse(body)).to.include({ GREETING: 'changed', TOKEN: 's3cret-of-the-shop' });
  });

  it('changes a setting and says what it does', async () => {
    const { page } = window;
    await tab('Settings');
    await page.getByLabel('Start command').fill('node server.js');
    await page.getByText('Unsaved changes: start command. Takes effect with the next deployment.').waitFor();
    await window.look('settings');
    await page.getByRole('button', { name: 'Save', exact: true }).click();
    await page.getByText('Deploy the service to apply the changes.').waitFor();
  });

  it('follows the log, and searches it', async () => {
    const { page } = window;
    await tab('Logs');
    await page.getByText('listening on').first().waitFor();
    await window.look('logs');
    await page.getByLabel('Search').fill('part 19');
    await page.getByText('part 199').waitFor();
    await page.getByLabel('Search').fill('nothing has this');
    await page.getByText('No matching lines').waitFor();
  });

  it('shows metrics, the queue, services and the workspace', async () => {
    const { page } = window;
    await tab('Metrics');
    await page
      .getByText(/No metrics yet|CPU|Requests|Replicas/)
      .first()
      .waitFor();
    await window.look('metrics');
    await tab('Domains');
    await page.getByLabel('Domain').fill('shop.example.com');
    await page.getByRole('button', { name: 'Add' }).click();
    await page.getByText('Waiting for DNS record').waitFor();
    const redirectTo = async (target: string) => {
      await page.getByRole('button', { name: 'Redirect shop.example.com' }).click();
      await page.getByLabel('Redirect to').fill(target);
      await window.look('domain-redirect');
      await page.getByRole('button', { name: 'Save redirect' }).click();
    };
    await redirectTo('shop.example.com');
    await page.getByText('is the domain itself').waitFor();
    await page.getByLabel('Redirect to').fill('www.example.com');
    await page.getByRole('button', { name: 'Save redirect' }).click();
    await page.getByText('Redirects to www.example.com').waitFor();
    await redirectTo('');
    await page.getByText('Redirects to www.example.com').waitFor({ state: 'detached' });
    await window.look('domains');
    await window.follow('Workspace', 'Queue');
    await page.getByText('The queue is empty').waitFor();
    await window.look('queue');
    await window.follow('Workspace', 'Services');
    await page.getByRole('link', { name: 'shop' }).waitFor();
    await window.look('services');
    await window.follow('Workspace', 'Workspace');
    await page.getByLabel('Build concurrency').waitFor();
    await window.look('workspace');
    await window.follow('Pages of the workspace', 'Members');
    await page.getByText('owner@example.test').waitFor();
    await window.look('members');
    await window.follow('Pages of the workspace', 'Audit log');
    await page.getByText('service.create').first().waitFor();
    await window.look('audit');
    await window.follow('Pages of the workspace', 'API keys');
    await page.getByLabel('Name').fill('laptop');
    await page.getByRole('button', { name: 'Create key' }).click();
    const key = await page.getByLabel('Key', { exact: true }).inputValue();
    expect(key).to.match(/^rnv_/);
    await page.getByRole('button', { name: 'Done' }).click();
    await page.getByText('laptop').waitFor();
    expect(await page.content()).to.not.include(key);
    await window.look('keys');
  });

  it('arranges the canvas in two windows, and asks which arrangement stays', async () => {
    const { page } = window;
    const other = await browser.signedIn();
    await window.follow('Workspace', 'Canvas');
    const card = (of: Window) => of.page.getByRole('group', { name: /^shop,/ });
    const drag = async (of: Window, by: number) => {
      const box = await card(of).boundingBox();
      if (!box) throw new Error('the card is not on the screen');
      await of.page.mouse.move(box.x + 60, box.y + 14);
      await of.page.mouse.down();
      await of.page.mouse.move(box.x + 60 + by, box.y + 14 + by, { steps: 6 });
      await of.page.mouse.up();
    };
    await card(window).waitFor();
    await card(other).waitFor();
    const saved = page.waitForResponse((answer) => answer.request().method() === 'PATCH' && answer.ok());
    await drag(window, 90);
    await saved;
    await drag(other, -60);
    await other.page.getByText('Someone else changed the layout').waitFor();
    await other.checkAccess('the conflict');
    await other.picture('canvas-conflict', { phone: false });
    const kept = other.page.waitForResponse((answer) => answer.request().method() === 'PATCH' && answer.ok());
    await other.page.getByRole('button', { name: 'Keep my layout' }).click();
    const { layout } = await (await kept).json();
    expect(layout.revision).to.equal(2);
    await other.page.getByText('Someone else').waitFor({ state: 'detached' });
    await card(window).click();
    await page.getByRole('complementary', { name: 'Service shop' }).waitFor();
    await window.checkAccess('canvas');
    await window.picture('canvas', { phone: false });
  });

  it('says that the API is away, keeps the input, and comes back', async () => {
    const { page } = window;
    await page.getByRole('complementary', { name: 'Service shop' }).getByRole('link', { name: 'Open' }).click();
    await tab('Variables');
    await page.getByLabel('Key', { exact: true }).fill('TYPED');
    await window.goOffline(true);
    await page.getByText('The API does not respond').waitFor();
    await window.look('offline');
    await window.goOffline(false);
    await page.getByText('The API does not respond').waitFor({ state: 'detached' });
    expect(await page.getByLabel('Key', { exact: true }).inputValue()).to.equal('TYPED');
  });

  it('asks for the password again when the session ends, over the page with its input', async () => {
    const { page } = window;
    await window.context.clearCookies();
    await page.getByText('Your session has ended').waitFor();
    await window.look('session-ended');
    expect(await page.getByLabel('Key', { exact: true }).inputValue()).to.equal('TYPED');
  });

  it('caused no error, and no request that the document does not know', () => {
    expect(browser.problems()).to.deep.equal([]);
  });
});
