import { expect } from 'chai';
import { buildConsole } from '../../api/pages/console-build.js';
import type { Json } from '../support/api.js';
import { nodeServer } from '../support/apps.js';
import { ConsoleBrowser, describeConsole, type Window } from '../support/console.js';
import { ENGINES, type Platform, startPlatform } from '../support/platform.js';

const SECRET = 'a-hidden-token';

describeConsole('Stacks in the console', () => {
  let platform: Platform;
  let browser: ConsoleBrowser;
  let window: Window;
  let repository: string;

  before(async () => {
    await buildConsole();
    platform = await startPlatform({ engine: ENGINES[0] ?? 'postgres' });
    repository = (await platform.repositoryOf(nodeServer('one'))).url;
    browser = await ConsoleBrowser.onPlatform(platform);
    window = await browser.signedIn();
  });
  after(async () => {
    await browser?.close();
    await platform?.stop();
  });

  const button = (name: string | RegExp) => window.page.getByRole('button', { name, exact: true });
  const changes = () => window.page.getByRole('list', { name: 'Changes' }).getByRole('listitem');
  const planned = async (document: string): Promise<void> => {
    await window.page.getByLabel('ranvier.yaml', { exact: true }).fill(document);
    await button('Plan').click();
  };
  const confirmed = async (action: string): Promise<void> => {
    const dialog = window.page.getByRole('dialog');
    await dialog.getByLabel('Type shop to confirm').fill('shop');
    await dialog.getByRole('button', { name: action }).click();
  };
  const succeeded = async (): Promise<void> => {
    await window.page.getByRole('main').getByText('Succeeded').first().waitFor();
    await button('Cancel').waitFor({ state: 'detached' });
  };
  const toStack = () => window.page.getByRole('link', { name: 'Back to the stack' }).click();
  const document = (more = '') =>
    `release: together
services:
  web:
    kind: web
    repository: ${repository}
    healthCheckPath: /
    variables:
      TOKEN: { secret: true }
${more}`;
  const services = async (): Promise<Json[]> => (await platform.client.expect<Json>('GET', '/services')).services;
  const GROUP = 'groups:\n  shared:\n    variables: { TZ: Europe/Berlin }\n';

  it('shows the line of a fault beside the text', async () => {
    const { page } = window;
    await window.follow('Workspace', 'Stacks');
    await page.getByText('No stacks yet').waitFor();
    await window.look('stacks-empty');
    await page.getByRole('link', { name: 'Plan a stack' }).click();
    await page.getByLabel('Name of the stack').fill('shop');
    await button('Create the project shop').click();
    await page.getByLabel('Environment').getByText('shop / Production').waitFor({ state: 'attached' });
    await window.look('stack-new');
    await planned(`services:\n  web:\n    kind: web\n    repositry: ${repository}\n    replicas: many\n`);
    await page.getByText('Line 4, column 5').waitFor();
    await window.look('stack-faults');
    await button(/^Line 4, column 5/).click();
    expect(
      await page.evaluate('document.activeElement.value.slice(document.activeElement.selectionStart).slice(0, 9)'),
    ).to.equal('repositry');
  });

  it('plans, asks for a secret, applies and follows the apply', async () => {
    const { page } = window;
    await planned(document(GROUP));
    await page.getByText('4 to create').waitFor();
    await page.getByText('0 to delete').waitFor();
    expect(await button('Apply').getAttribute('aria-disabled')).to.equal('true');
    await window.look('stack-plan');
    await page.getByLabel('The value of web.TOKEN').fill(SECRET);
    await button('Apply').click();
    await page.getByRole('list', { name: 'Steps' }).waitFor();
    await window.picture('stack-applying');
    await succeeded();
    await page.getByRole('link', { name: 'Succeeded' }).waitFor();
    await window.look('stack-applied');
    expect(await page.content()).to.not.include(SECRET);
    await toStack();
    await page.getByText('No drift', { exact: true }).waitFor();
    await page.getByText('Goes live together').waitFor();
  });

  it('shows what was changed by hand', async () => {
    const { page } = window;
    const [web] = await services();
    await platform.client.expect('PATCH', `/services/${web?.id}`, {
      configuration: { healthCheckPath: '/pid' },
    });
    await page.reload();
    await page.getByRole('region', { name: 'Drift' }).getByText('1 to change').waitFor();
    expect(await changes().allInnerTexts()).to.deep.equal(['~\nchange service web\nhealthCheckPath\n/pid → /']);
    await window.look('stack-drift');
    await page.getByRole('link', { name: 'All stacks' }).click();
    await page.getByText('1 change of drift').waitFor();
    await window.look('stacks');
  });

  it('says why an apply failed', async () => {
    const { page } = window;
    await page.getByRole('link', { name: 'shop', exact: true }).click();
    await page.getByRole('link', { name: 'Plan a change' }).click();
    await planned(document(GROUP).replace('kind: web', 'kind: web\n    buildCommand: exit 9'));
    await page.getByText('buildCommand').last().waitFor();
    await button('Apply').click();
    await page.getByText('The apply failed').waitFor();
    await page.getByRole('link', { name: 'Failed' }).waitFor();
    await window.look('stack-failed');
    await toStack();
  });

  it('asks for the stack’s name if something is deleted, and goes back', async () => {
    const { page } = window;
    await page.getByRole('link', { name: 'Plan a change' }).click();
    await button('Fill in what exists').click();
    await page.getByText('buildCommand: exit 9').waitFor();
    await planned(document());
    await page.getByText('1 to delete').waitFor();
    await window.look('stack-plan-destructive');
    await button('Apply…').click();
    await window.checkAccess('the question before something is deleted');
    await confirmed('Apply');
    await succeeded();
    await toStack();
    await page.getByRole('region', { name: 'Applies' }).getByRole('listitem').nth(1).waitFor();
    await window.look('stack');
    await button('Roll back').click();
    await window.checkAccess('the rollback of a stack');
    await confirmed('Roll back');
    await page.getByRole('link', { name: 'Rollback to an earlier apply' }).waitFor();
    await succeeded();
    await window.look('stack-rolled-back');
  });

  it('is forgotten, and keeps what it owns', async () => {
    const { page } = window;
    await toStack();
    await button('Delete…').click();
    await window.look('stack-delete');
    await confirmed('Forget the stack');
    await page.getByText('No stacks yet').waitFor();
    expect(await services()).to.have.length(1);
  });

  it('takes over what exists, and is deleted with what it owns', async () => {
    const { page } = window;
    await page.getByRole('link', { name: 'Plan a stack' }).click();
    await page.getByLabel('Name of the stack').fill('shop');
    await planned(document());
    await page.getByText('Nothing to change').waitFor();
    await button('Apply').click();
    await succeeded();
    await toStack();
    await button('Delete…').click();
    await page.getByLabel('Keep what it owns').uncheck();
    await confirmed('Delete permanently');
    await page.getByRole('heading', { name: 'This apply is gone' }).waitFor();
    await window.look('stack-deleted');
    expect(await services()).to.deep.equal([]);
  });

  it('caused no error, and no request that the document does not know', () => {
    expect(browser.problems()).to.deep.equal([]);
  });
});
