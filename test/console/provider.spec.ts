import { createServer, request, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { expect } from 'chai';
import { buildConsole } from '../../api/pages/console-build.js';
import { addMember } from '../../shared/identity/commands.js';
import { startTestApi, type TestApi, type TestWorkspace } from '../support/api.js';
import { ConsoleBrowser, describeConsole } from '../support/console.js';
import { makeUser } from '../support/factories.js';
import { startProvider, type TestProvider } from '../support/oidc.js';

const EMAIL = 'ada@example.com';

/** Tests the sign-in in a real browser, with its rules for cookies and redirects. */
describeConsole('Sign-in with a provider', () => {
  let front: Server;
  let provider: TestProvider;
  let api: TestApi;
  let workspace: TestWorkspace;
  let browser: ConsoleBrowser;

  before(async () => {
    await buildConsole();
    // PUBLIC_URL must be known before the API listens, so a proxy listens there.
    front = createServer((asked, answer) => {
      const { url, method, headers } = asked;
      const passed = request(`${api.url}${url}`, { method, headers }, (given) => {
        answer.writeHead(given.statusCode ?? 500, given.headers);
        given.pipe(answer);
      });
      asked.pipe(passed);
    });
    await new Promise<void>((resolve) => front.listen(0, 'localhost', resolve));
    const publicUrl = `http://localhost:${(front.address() as AddressInfo).port}`;
    provider = await startProvider(publicUrl);
    api = await startTestApi({ oidc: provider.oidc, publicUrl });
    workspace = await api.workspace();
    await makeUser(api.db, { email: EMAIL });
    await api.db.transaction((trx) => addMember(trx, { workspaceId: workspace.id, email: EMAIL, role: 'owner' }));
    browser = await ConsoleBrowser.open({ url: publicUrl, db: api.db, email: EMAIL });
  });
  after(async () => {
    await browser?.close();
    await api?.close();
    await provider?.close();
    front?.closeAllConnections();
    front?.close();
  });

  it('is set up on the page of the members', async () => {
    const { page } = await browser.signedIn();
    await page.goto(`${browser.url}/w/${workspace.id}/settings/members`);
    await page.getByLabel('Domains').fill('example.com, elsewhere.example');
    await page.getByLabel('Claim with roles').fill('groups');
    await page.getByLabel('Roles', { exact: true }).fill('team:ops: admin');
    await page.getByRole('button', { name: 'Save' }).click();
    await page.getByText('must be the domain of a verified e-mail address of an owner').waitFor();
    await page.getByLabel('Domains').fill('example.com');
    await page.getByRole('button', { name: 'Save' }).click();
    await page.getByText('Saved').waitFor();
    const saved = await api.db('workspace_sign_in').where({ workspace_id: workspace.id }).first();
    expect(saved).to.deep.include({ allowed_domains: ['example.com'], roles: { 'team:ops': 'admin' } });
  });

  it('leads from a page to the provider and back to it', async () => {
    provider.person = { sub: 'grace', email: 'grace@example.com', email_verified: true, groups: ['team:ops'] };
    const { page } = await browser.window();
    page.setDefaultTimeout(30_000);
    await page.goto(`${browser.url}/w/${workspace.id}/settings/members`);
    await page.getByRole('link', { name: 'Sign in with Acme' }).click();
    await page.getByText('grace@example.com').waitFor();
    expect(new URL(page.url()).pathname).to.equal(`/w/${workspace.id}/settings/members`);
    expect(await page.getByLabel('Role of grace@example.com').inputValue()).to.equal('admin');
  });

  it('signs out at the provider too, and comes back', async () => {
    provider.person = { sub: 'grace', email: 'grace@example.com', email_verified: true };
    const { page } = await browser.window();
    page.setDefaultTimeout(30_000);
    await page.goto(`${browser.url}/w/${workspace.id}/settings/members`);
    await page.getByRole('link', { name: 'Sign in with Acme' }).click();
    await page.getByText('grace@example.com').waitFor();
    await page.getByRole('button', { name: /^Account/ }).click();
    await page.getByRole('menuitem', { name: 'Sign out' }).click();
    await page.getByRole('button', { name: 'Yes, sign me out' }).click();
    await page.getByRole('link', { name: 'Sign in with Acme' }).waitFor();
    expect(new URL(page.url()).pathname).to.equal('/sign-in');
  });

  it('says in words why it failed', async () => {
    provider.person = { sub: 'eve', email: 'eve@evil.example', email_verified: true };
    const window = await browser.window();
    window.page.setDefaultTimeout(30_000);
    await window.page.goto(browser.url);
    await window.page.getByRole('link', { name: 'Sign in with Acme' }).click();
    await window.page.getByText('No workspace admits your e-mail address').waitFor();
    expect(window.page.url()).to.not.include('error');
    await window.checkAccess('the sign-in page with a provider');
  });
});
