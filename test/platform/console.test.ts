import { expect } from 'chai';
import { hashPassword } from '../../shared/secrets/password.js';
import { nodeServer } from '../support/apps.js';
import { visit } from '../support/client.js';
import { ConsoleBrowser, describeConsole, firstScreenBytes, type Window } from '../support/console.js';
import { ENGINES, type Platform, usePlatform } from '../support/platform.js';
import { eventually } from '../support/processes.js';
import { createPlatformRepository, type TestRepository } from '../support/repositories.js';

/** Maximum bytes of JavaScript that the first page may load. */
const BUDGET = 250_000;

const EMAIL = 'owner@example.test';

/** A short test of the console. `npm run test:console` tests all of it. */
describeConsole('The console', function () {
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
    // A busy platform may refuse the request; a user then follows the link again.
    await eventually('the used link is refused', async () => {
      await second.page.goto('about:blank');
      await second.page.goto(link);
      await second.page.getByRole('alert').waitFor({ timeout: 60_000 });
      const said = await second.page.getByRole('main').innerText();
      if (!said.includes('The link is unknown, was used or has expired')) throw new Error(said);
      return true;
    });
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

  it('adds a passkey, and signs in with it once more', async () => {
    const { page, context } = window;
    const devices = await context.newCDPSession(page);
    await devices.send('WebAuthn.enable');
    await devices.send('WebAuthn.addVirtualAuthenticator', {
      options: {
        ...{ protocol: 'ctap2', transport: 'internal', hasResidentKey: true, hasUserVerification: true },
        ...{ isUserVerified: true, automaticPresenceSimulation: true },
      },
    });
    await platform.database.db('users').where({ email: EMAIL }).update({ password_hash: null });
    const [workspacePath] = /^\/w\/[^/]+/.exec(new URL(page.url()).pathname) ?? [];
    await page.goto(`${browser.url}${workspacePath}/account`);
    await page.getByRole('button', { name: 'Add a passkey' }).click();
    await page.getByLabel('Name').fill('Laptop');
    await page.getByRole('button', { name: 'Continue' }).click();
    await page.getByText('never used').waitFor();
    await window.checkAccess('the account');

    await context.clearCookies();
    await page.goto(`${browser.url}/sign-in`);
    const sent = page.waitForRequest((request) => request.url().endsWith('/api/session/passkey'));
    await page.getByRole('button', { name: 'Sign in with a passkey' }).click();
    const answer = (await sent).postDataJSON();
    await page.waitForURL(/\/w\//);
    const { db } = platform.database;
    const newest = await db('sessions').orderBy('created_at', 'desc').first('second_factor');
    expect(newest).to.deep.equal({ second_factor: true });

    const post = (body: unknown) =>
      fetch(`${browser.url}/api/session/passkey`, {
        method: 'POST',
        headers: { 'Content-Type': 'application/json' },
        body: JSON.stringify(body),
      });
    // The refused answers: the same one again, another key's, one for another site, and one of a copied authenticator.
    const { credential } = answer;
    const refused = async (body: unknown, reason: RegExp) => {
      const response = await post(body);
      expect(response.status).to.equal(401);
      expect(await response.text()).to.match(reason);
    };
    await refused(answer, /counter value|used before/);
    await refused({ credential: { ...credential, id: 'AAAA', rawId: 'AAAA' } }, /does not know it/);
    const data = JSON.parse(Buffer.from(credential.response.clientDataJSON, 'base64url').toString());
    const other = Buffer.from(JSON.stringify({ ...data, origin: 'https://evil.example' })).toString('base64url');
    const response = { ...credential.response, clientDataJSON: other };
    await refused({ credential: { ...credential, response } }, /origin/);
    await db('passkeys').update({ counter: 1_000_000 });
    await context.clearCookies();
    await page.goto(`${browser.url}/sign-in`);
    await page.getByRole('button', { name: 'Sign in with a passkey' }).click();
    await page.getByText(/The passkey is not accepted/).waitFor();
  });

  it('answers with the passkey after a password, where a workspace requires a second factor', async () => {
    const { page, context } = window;
    const { db } = platform.database;
    const password = 'correct horse battery staple';
    await db('passkeys').update({ counter: 0 });
    await db('users')
      .where({ email: EMAIL })
      .update({ password_hash: await hashPassword(password) });
    await db('workspaces').update({ configuration: db.raw(`configuration || '{"requireMfa": true}'`) });
    await context.clearCookies();
    await page.goto(`${browser.url}/sign-in`);
    await page.getByLabel('E-mail address').fill(EMAIL);
    await page.getByLabel('Password').fill(password);
    await page.getByRole('button', { name: 'Sign in', exact: true }).click();
    await page.getByRole('button', { name: 'Use a passkey' }).waitFor();
    await window.checkAccess('the second step of a sign-in');
    await page.getByRole('button', { name: 'Use a passkey' }).click();
    await page.waitForURL(/\/w\//);
    const newest = await db('sessions').orderBy('created_at', 'desc').first('second_factor', 'by_password');
    expect(newest).to.deep.equal({ second_factor: true, by_password: true });
    await db('workspaces').update({ configuration: db.raw(`configuration - 'requireMfa'`) });
  });

  it('loads no more JavaScript than its budget, and nothing went wrong meanwhile', async () => {
    expect(await firstScreenBytes()).to.be.below(BUDGET);
    expect(browser.problems()).to.deep.equal([]);
  });
});
