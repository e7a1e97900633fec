import { expect } from 'chai';
import { nodeServer } from '../support/apps.js';
import { visit } from '../support/client.js';
import { CHROMIUM, ConsoleBrowser, firstScreenBytes, type Window } from '../support/console.js';
import { ENGINES, type Platform, usePlatform } from '../support/platform.js';
import { createPlatformRepository, type TestRepository } from '../support/repositories.js';

/** Maximum bytes of JavaScript that the first page may load. */
const BUDGET = 250_000;

const suite = CHROMIUM === null ? describe.skip : describe;

/** A short test of the console. `npm run test:console` tests all of it. */
suite(`The console${CHROMIUM === null ? ': chromium is not installed' : ''}`, function () {
  this.timeout(600_000);
  let platform: Platform;
  let repository: TestRepository;
  let browser: ConsoleBrowser;
  let window: Window;

  after(() => browser?.close());
  usePlatform({ engine: ENGINES[0] ?? 'postgres' }, async (started) => {
    platform = started;
    repository = await createPlatformRepository(nodeServer('seen'), 'Say what is seen');
    browser = await ConsoleBrowser.onPlatform(platform);
  });
  after(() => repository?.remove());

  it('signs in by a one-time link, which works once', async () => {
    const link = await browser.link();
    window = await browser.window();
    await window.page.goto(link);
    await window.page.getByText('No services yet').waitFor();
    expect(window.page.url()).to.not.include('#');
    await window.checkAccess('the empty canvas');
    const second = await browser.window();
    await second.page.goto(link);
    await second.page.getByText('The link is unknown, was used or has expired').waitFor();
    await second.checkAccess('the sign-in page');
  });

  it('leads from an address to a live URL in three clicks', async () => {
    const { page } = window;
    await page.getByRole('banner').getByRole('link', { name: 'New service' }).click();
    await page.getByLabel('Repository URL').fill(repository.url);
    await page.getByText('Detected at commit').waitFor();
    await window.checkAccess('the form for a new service');
    await page.getByRole('button', { name: 'Deploy', exact: true }).click();
    await page.getByText('Deployment live').waitFor();
    await window.checkAccess('the live deployment');
    const url =
      (await page
        .getByRole('main')
        .getByRole('link', { name: /^http:\/\// })
        .last()
        .textContent()) ?? '';
    expect((await visit(url, platform.edgePort)).body).to.equal('seen');
  });

  it('shows it on the canvas, by name and status', async () => {
    await window.follow('Workspace', 'Canvas');
    await window.page
      .getByRole('group', { name: /, Web service$/ })
      .getByText('Live')
      .waitFor();
    await window.checkAccess('the canvas');
  });

  it('loads no more JavaScript than its budget, and nothing went wrong meanwhile', async () => {
    expect(await firstScreenBytes()).to.be.below(BUDGET);
    expect(browser.problems()).to.deep.equal([]);
  });
});
