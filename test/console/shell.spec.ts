import { expect } from 'chai';
import { nodeServer } from '../support/apps.js';
import { ConsoleBrowser, describeConsole, type Window } from '../support/console.js';
import { createService, deploy, type Service } from '../support/deployments.js';
import { ENGINES, type Platform, usePlatform } from '../support/platform.js';

describeConsole('The console’s shell', () => {
  let platform: Platform;
  let service: Service;
  let browser: ConsoleBrowser;
  let window: Window;
  usePlatform({ engine: ENGINES[0] ?? 'postgres' }, async (started) => {
    platform = started;
    ({ service } = await platform.serviceOf('shop', nodeServer('serves')));
    await deploy(platform.client, service.id);
    browser = await ConsoleBrowser.onPlatform(platform);
    window = await browser.signedIn();
  });
  after(() => browser?.close());

  const screen = () => window.page.getByRole('region', { name: 'Terminal' });
  const shows = (text: string) => screen().locator('.xterm-rows').getByText(text).first().waitFor({ timeout: 30_000 });

  it('is a terminal: text, Unicode, Ctrl-C and full screen programs', async () => {
    const { page } = window;
    await page.goto(`${browser.url}/w/${platform.client.workspaceId}/s/${service.id}/shell`);
    await shows('$');
    await page.keyboard.type('echo "$((6 * 7)) $(printf "gr\\303\\274n")"; stty size\n');
    await shows('42 grün');
    await page.keyboard.type('sleep 1000\n');
    await page.waitForTimeout(300);
    await page.keyboard.press('Control+c');
    // Ctrl-C discards what was typed before it is handled.
    await shows('^C');
    await page.keyboard.type('echo "code $?"\n');
    await shows('code 130');
    await page.keyboard.type('printf "\\033[38;2;10;200;30mtrue colour\\033[0m\\n"\n');
    await shows('true colour');
    await window.checkAccess('shell');
    await window.picture('shell');
    await page.keyboard.type('top -d 1\n');
    await shows('Tasks:');
    await window.picture('shell-top', { phone: false });
    await page.keyboard.press('q');
    await page.keyboard.type('exit 3\n');
    await page.getByText('It ended with the exit code 3').waitFor();
    expect(window.problems).to.deep.equal([]);
  });

  it('opens another shell', async () => {
    const { page } = window;
    await page.getByRole('button', { name: 'Open a new shell' }).click();
    await page.getByText('The shell has ended').waitFor({ state: 'detached' });
    await shows('$');
    await page.keyboard.type('echo $((7 * 9))\n');
    await shows('63');
    expect(window.problems).to.deep.equal([]);
  });

  it('plays what was recorded, if the workspace records shells', async () => {
    const { page } = window;
    await platform.client.expect('PATCH', '', { configuration: { recordShells: true } });
    await page.getByRole('button', { name: 'Open a new shell' }).click();
    await shows('This shell is recorded.');
    await page.keyboard.type('echo "gr\u00fcn $((8 * 9))"\n');
    await shows('gr\u00fcn 72');
    await page.keyboard.type('exit\n');
    await page.getByText('It ended with the exit code 0').waitFor();
    await page.reload();
    await page.getByRole('button', { name: 'Play' }).first().click();
    const recording = page.getByRole('region', { name: 'Recording', exact: true });
    await recording.locator('.xterm-rows').getByText('gr\u00fcn 72').first().waitFor({ timeout: 30_000 });
    await window.checkAccess('recording');
    await window.picture('recording');
    await platform.client.expect('PATCH', '', { configuration: { recordShells: false } });
    expect(window.problems).to.deep.equal([]);
  });

  it('says how to connect to a database, and reveals its credentials after a click', async () => {
    const { page } = window;
    const cache = await createService(platform.client, { name: 'cache', kind: 'redis', configuration: {} });
    await deploy(platform.client, cache.id);
    await page.goto(`${browser.url}/w/${platform.client.workspaceId}/s/${cache.id}`);
    await page.getByText('rnv redis-cli cache').waitFor();
    await window.checkAccess('connect');
    await window.picture('connect');
    await page.getByRole('button', { name: 'Reveal credentials' }).click();
    expect(await page.getByLabel('User', { exact: true }).inputValue()).to.equal('default');
    expect((await page.getByLabel('Password', { exact: true }).inputValue()).length).to.be.greaterThan(20);
    await page.getByRole('button', { name: 'Done' }).click();
    expect(window.problems).to.deep.equal([]);
  });
});
