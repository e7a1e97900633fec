import { expect } from 'chai';
import { Secret, TOTP } from 'otpauth';
import { v7 as uuidv7 } from 'uuid';
import { buildConsole } from '../../api/pages/console-build.js';
import { Sensitive } from '../../shared/core/sensitive.js';
import { addMember } from '../../shared/identity/commands.js';
import { storeLines } from '../../workers/logs/store-lines.js';
import { type Json, newService, startTestApi, type TestApi, type TestWorkspace } from '../support/api.js';
import { ConsoleBrowser, describeConsole, type Window } from '../support/console.js';
import { makeUser } from '../support/factories.js';
import { eventually } from '../support/processes.js';
import { pretendCanary, pretendLive } from '../support/records.js';
import { startSmtp, type TestSmtp } from '../support/smtp.js';

const EMAIL = 'ada@example.test';
const PASSWORD = 'correct horse battery staple';

describeConsole('The console’s pages', () => {
  let api: TestApi;
  let smtp: TestSmtp;
  let workspace: TestWorkspace;
  let browser: ConsoleBrowser;
  let window: Window;
  let shop: Json;

  before(async () => {
    await buildConsole();
    smtp = await startSmtp();
    api = await startTestApi({ mail: { smtpUrl: new Sensitive(smtp.url), from: 'ranvier@example.com' } });
    workspace = await api.workspace();
    await makeUser(api.db, { email: EMAIL, password: PASSWORD });
    await api.db.transaction((trx) => addMember(trx, { workspaceId: workspace.id, email: EMAIL, role: 'owner' }));
    shop = await make('shop', 'web', {
      repository: 'https://example.com/team/shop.git',
      plan: 'starter',
      previewMode: 'manual',
      autoDeploy: 'commit',
    });
    await pretendLive(api.db, shop.id);
    browser = await ConsoleBrowser.onApi(api, EMAIL);
    window = await browser.signedIn();
  });
  after(async () => {
    await browser?.close();
    await api?.close();
    await smtp?.close();
  });

  const make = (name: string, kind: string, configuration: object): Promise<Json> =>
    newService(workspace.owner.client, workspace.path, { name, kind, configuration });
  const open = (rest: string, of = window) => of.page.goto(`${browser.url}/w/${workspace.id}${rest}`);
  const openService = (service: Json, rest: string, of = window) => open(`/s/${service.id}${rest}`, of);
  /** Returns a secret that is shown once, and expects that the page forgets it after the dialog. */
  const shownOnce = async (label: string): Promise<string> => {
    const { page } = window;
    const text = await page.getByRole('dialog').getByLabel(label, { exact: true }).inputValue();
    await page.getByRole('button', { name: 'Done' }).click();
    await page.getByRole('dialog').waitFor({ state: 'detached' });
    const left = await page.evaluate(
      `document.documentElement.outerHTML + [...document.querySelectorAll('input')].map((input) => input.value)`,
    );
    expect(left).to.not.include(text);
    return text;
  };

  it('hooks: makes one, shows its secret once, replaces it and says what the last delivery led to', async () => {
    const { page } = window;
    await openService(shop, '/hooks');
    await page.getByText('No webhooks yet').waitFor();
    await window.look('hooks-empty');
    await page.getByLabel('Apply ranvier.yaml of each push').check();
    await page.getByRole('button', { name: 'Add webhook' }).click();
    await page.getByText('A stack belongs to an environment: move the service into one first').waitFor();
    await window.picture('hooks-stack');
    await page.getByLabel('Apply ranvier.yaml of each push').uncheck();
    await page.getByRole('button', { name: 'Add webhook' }).click();
    await page.getByText('Settings, Webhooks, Add webhook').waitFor();
    await window.checkAccess('the secret of a hook');
    await window.picture('hooks-secret');
    const secret = await shownOnce('Secret');
    expect(secret.length).to.be.greaterThan(20);
    await page.getByRole('button', { name: 'Token of the webhook of GitHub' }).click();
    await page.getByLabel('Token of GitHub').fill('ghp_a-token-of-a-git-host');
    await page.getByLabel('Address of its API').fill('https://git.example.com/api/v3');
    await window.checkAccess('the token of a hook');
    await window.picture('hooks-token');
    await page.getByRole('button', { name: 'Save' }).click();
    await page.getByText('https://git.example.com/api/v3, nothing sent yet').waitFor();
    expect(await page.content()).to.not.include('ghp_a-token');
    const [made] = await api.db('hooks').select('id');
    await api.db('hooks').update({ delivered_at: new Date(), outcome: 'a deployment of main is queued' });
    await page.reload();
    await page.getByText('a deployment of main is queued').waitFor();
    await page.getByLabel('Provider').selectOption('generic');
    await page.getByRole('button', { name: 'Add webhook' }).click();
    expect(await shownOnce('URL')).to.match(/\/api\/hooks\/[^?]+\?key=/);
    await window.look('hooks');
    await page.getByRole('button', { name: 'Replace the webhook of GitHub' }).click();
    await page.getByRole('button', { name: 'Replace', exact: true }).click();
    expect(await shownOnce('Secret')).to.not.equal(secret);
    const left = await api.db('hooks').select('id');
    expect(left.length).to.equal(2);
    expect(left).to.not.deep.include(made);
    await page.getByRole('button', { name: 'Delete the webhook of Deploy hook' }).click();
    await page.getByRole('dialog').getByRole('button', { name: 'Delete' }).click();
    await page.getByRole('button', { name: 'Delete the webhook of Deploy hook' }).waitFor({ state: 'detached' });
  });

  it('templates: finds one, shows its plan and applies it, and then holds no secret', async () => {
    const { page } = window;
    await open('/new');
    await page.getByRole('link', { name: 'Start from a template' }).click();
    await page.getByRole('link', { name: 'Verdaccio' }).waitFor();
    await window.look('templates');
    await page.getByLabel('Search').fill('automation flows');
    await page.getByRole('link', { name: 'Verdaccio' }).waitFor({ state: 'detached' });
    await page.getByRole('link', { name: 'Node-RED' }).click();
    await page.getByRole('button', { name: 'Create the project Node-RED' }).click();
    await page.getByLabel('Environment').getByText('Node-RED / Production').waitFor({ state: 'attached' });
    await window.look('template');
    await page.getByLabel('The password').fill('short');
    await page.getByRole('button', { name: 'Show the plan' }).click();
    await page.getByText('/values/node-red.ADMIN_PASSWORD').waitFor();
    await page.getByLabel('The password').fill('a-hidden-password');
    await page.getByRole('button', { name: 'Show the plan' }).click();
    await page.getByText('create volume').waitFor();
    await window.look('template-plan');
    await page.getByLabel('Room for flows').fill('2');
    await page.getByText('create volume').waitFor({ state: 'detached' });
    await page.getByRole('button', { name: 'Show the plan' }).click();
    await page.getByRole('button', { name: 'Apply' }).click();
    // The plan says “create service” too, so the text alone does not show the apply.
    await page.getByRole('heading', { name: 'Apply of node-red' }).waitFor();
    await window.look('template-applied');
    const left = await page.evaluate(
      `document.documentElement.outerHTML + [...document.querySelectorAll('input')].map((input) => input.value)`,
    );
    expect(left).to.not.include('a-hidden-password');
    const { body } = await workspace.owner.client.get(`${workspace.path}/stacks/node-red`);
    expect(body.stack.lastApply.status).to.equal('queued');
  });

  it('previews: makes one of a branch, and closes it', async () => {
    const { page } = window;
    await openService(shop, '/previews');
    await page.getByText('No previews yet').waitFor();
    await window.look('previews-empty');
    await page.getByLabel('Branch').fill('cart');
    await page.getByRole('button', { name: 'Create preview' }).click();
    await page.getByRole('link', { name: 'cart', exact: true }).waitFor();
    await page.getByText('1 of 20').waitFor();
    await window.look('previews');
    await page.getByRole('button', { name: 'Delete the preview of cart' }).click();
    await page.getByRole('dialog').getByRole('button', { name: 'Delete' }).click();
    await page.getByText(/No previews yet|Deleting/).waitFor();
    for (const [index, title] of ['Count the cart', 'Mine coins'].entries()) {
      await api.db('pull_requests').insert({
        id: uuidv7(),
        service_id: shop.id,
        number: 7 + index,
        ref: `refs/pull/${7 + index}/head`,
        title,
        author: 'mallory',
        branch: 'patch',
        target: 'main',
        fork: true,
        head_sha: String(index + 1).repeat(40),
        open: true,
        reported_at: new Date(),
      });
    }
    await page.reload();
    await page.getByRole('button', { name: 'Approve pull request 7' }).click();
    await page.getByText('it is code from a fork').waitFor();
    await window.checkAccess('the approval of a fork');
    await page.getByRole('button', { name: 'Approve this commit' }).click();
    await page.getByText('Approved', { exact: true }).waitFor();
    await page.getByRole('button', { name: 'Decline pull request 8' }).click();
    await page.getByText('Declined', { exact: true }).waitFor();
    await window.look('pull-requests');
    await openService(await make('plain', 'web', { repository: 'https://example.com/plain.git' }), '/previews');
    await page.getByRole('link', { name: 'Open settings' }).waitFor();
  });

  it('variables: each is for everything, for production or for previews', async () => {
    const { page } = window;
    await openService(shop, '/variables');
    await page.getByLabel('Key', { exact: true }).fill('API_TOKEN');
    await page.getByLabel('Value').fill('never shown');
    await page.getByLabel('Scope').selectOption('preview');
    await page.getByRole('button', { name: 'Add', exact: true }).click();
    await page.getByRole('button', { name: 'Save', exact: true }).click();
    await page.getByText('set, value hidden, for previews only').waitFor();
    await page.getByRole('button', { name: 'Replace API_TOKEN' }).click();
    await page.getByLabel('New value of API_TOKEN').fill('new');
    await page.getByLabel('Where API_TOKEN is set').selectOption('production');
    await window.look('variables-scope');
    await page.getByRole('button', { name: 'Save', exact: true }).click();
    await page.getByText('set, value hidden, for production only').waitFor();
    const [variable] = (await workspace.owner.client.get(`${workspace.path}/services/${shop.id}/variables`)).body
      .variables;
    expect(variable).to.include({ key: 'API_TOKEN', scope: 'production' });
  });

  it('runs and backups: each with how it ended, when, and what can be done', async () => {
    const { page } = window;
    const report = await make('report', 'cron', {
      repository: 'https://example.com/report.git',
      startCommand: 'node report.js',
      schedule: '0 4 * * *',
    });
    const { client } = workspace.owner;
    await pretendLive(api.db, report.id);
    await client.post(`${workspace.path}/services/${report.id}/runs`);
    await openService(report, '/runs');
    await page.getByText('Manual run').waitFor();
    await window.look('runs');
    await page.getByRole('button', { name: 'Cancel' }).click();
    await page.getByText('Cancelled').waitFor();

    const data = await make('data', 'postgres', { plan: 'starter', backupEnabled: true });
    await openService(data, '/backups');
    await page.getByText('No backups yet').waitFor();
    await pretendLive(api.db, data.id);
    const base = { workspace_id: workspace.id, service_id: data.id, started_at: new Date(), finished_at: new Date() };
    const ended = [
      { status: 'succeeded', trigger: 'schedule', size_bytes: 41_900_000 },
      { status: 'failed', trigger: 'manual', error: 'The disk of the backup store is full' },
    ];
    for (const one of ended) await api.db('backups').insert({ id: uuidv7(), ...base, ...one });
    await page.reload();
    await page.getByText('41.9 MB').waitFor();
    await window.look('backups');
    await page.getByRole('button', { name: 'Restore' }).click();
    await page.getByRole('button', { name: 'Restore' }).waitFor();
    await window.checkAccess('the restoration of a backup');
    await page.getByRole('button', { name: 'Cancel' }).click();
    await page.getByRole('button', { name: 'Delete' }).first().click();
    await page.getByRole('button', { name: 'Delete permanently' }).click();
    await page.getByText('The disk of the backup store is full').waitFor({ state: 'detached' });
  });

  it('backups of volumes: shown for a service with one, and made with a pause', async () => {
    const { page } = window;
    const web = await make('files', 'web', { repository: 'https://example.com/web.git' });
    await pretendLive(api.db, web.id);
    await openService(web, '/volumes');
    await page.getByText('No volumes yet').waitFor();
    expect(await page.getByRole('link', { name: 'Backups' }).count()).to.equal(0);
    const path = `${workspace.path}/services/${web.id}`;
    await workspace.owner.client.post(`${path}/volumes`, { name: 'data', mountPath: '/data', sizeGb: 1 });
    await api.db('volumes').where({ service_id: web.id }).update({ host_id: uuidv7() });
    await page.reload();
    await page.getByRole('link', { name: 'Backups' }).click();
    await page.getByText('No backups yet').waitFor();
    await page.getByRole('button', { name: 'Pause and back up' }).click();
    await page.getByText('A backup is queued').waitFor();
    expect(await api.db('backups').where({ service_id: web.id }).first()).to.include({ pause: true });
    await window.look('backups-of-volumes');
  });

  it('a command is run in a service, and its run shows its log and is cancelled', async () => {
    const { page } = window;
    const web = await make('migrating', 'web', { repository: 'https://example.com/web.git' });
    const { client } = workspace.owner;
    await openService(web, '/runs');
    await page.getByText('No runs yet').waitFor();
    expect(await page.getByRole('button', { name: 'Run a command' }).getAttribute('aria-disabled')).to.equal('true');
    const deploymentId = await pretendLive(api.db, web.id);
    await page.reload();
    await page.getByRole('button', { name: 'Run a command' }).click();
    await page.getByRole('textbox', { name: 'Command' }).fill('npm run migrate');
    await page.getByLabel('Timeout in minutes').fill('5');
    await window.checkAccess('the command that is to be run');
    await page.getByRole('button', { name: 'Run', exact: true }).click();
    await page.getByRole('heading', { name: 'npm run migrate' }).waitFor();
    const { runs } = (await client.get(`${workspace.path}/services/${web.id}/runs`)).body;
    expect(runs[0]).to.include({ command: 'npm run migrate', timeoutSeconds: 300 });
    const lines = ['one table', 'two tables'].map((message) => ({
      level: 'info' as const,
      message,
      timestamp: new Date().toISOString(),
    }));
    const own = { serviceId: web.id, deploymentId, source: 'runtime' as const, lines };
    await storeLines(api.db, { ...own, runId: runs[0].id });
    await storeLines(api.db, { ...own, lines: [{ ...lines[0], message: 'of the application' } as (typeof lines)[0]] });
    await page.getByText('two tables').waitFor();
    expect(await page.getByText('of the application').count()).to.equal(0);
    await window.look('run');
    await page.getByRole('button', { name: 'Cancel' }).click();
    await page.getByText('Cancelled').waitFor();
    const long = `echo ${'a-word-that-is-long '.repeat(200)}`;
    await client.post(`${workspace.path}/services/${web.id}/runs`, { command: long });
    await openService(web, '/runs');
    await page.getByRole('link', { name: 'npm run migrate' }).waitFor();
    await window.look('runs-of-commands');
    await page.getByRole('link', { name: 'a-word' }).click();
    await page.getByRole('heading', { name: 'a-word' }).waitFor();
    await window.look('run-of-a-long-command');
  });

  it('volumes: adds one, makes it larger and deletes it by its name', async () => {
    const { page } = window;
    const web = await make('with files', 'web', { repository: 'https://example.com/files.git', plan: 'starter' });
    await openService(web, '/volumes');
    await page.getByText('No volumes yet').waitFor();
    await page.getByLabel('Name').fill('uploads');
    await page.getByLabel('Mount path').fill('/etc');
    await page.getByRole('button', { name: 'Add volume' }).click();
    await page.getByText('The volume was not added').waitFor();
    await page.getByLabel('Mount path').fill('/data');
    await page.getByRole('button', { name: 'Add volume' }).click();
    await page.getByText('1 GB, mounted by the next deployment').waitFor();
    await window.look('volumes');
    await page.getByRole('button', { name: 'Resize uploads' }).click();
    await page.getByRole('dialog').getByLabel('Size in GB').fill('3');
    await window.checkAccess('the dialog that makes a volume larger');
    await page.getByRole('dialog').getByRole('button', { name: 'Resize' }).click();
    await page.getByText('3 GB, mounted by the next deployment').waitFor();
    await page.getByRole('button', { name: 'Delete uploads' }).click();
    await page.getByLabel('Type uploads to confirm').fill('uploads');
    await page.getByRole('dialog').getByRole('button', { name: 'Cancel' }).click();
    await page.getByRole('button', { name: 'Delete uploads' }).click();
    expect(await page.getByLabel('Type uploads to confirm').inputValue(), 'what was typed before').to.equal('');
    await page.getByLabel('Type uploads to confirm').fill('uploads');
    await page.getByRole('dialog').getByRole('button', { name: 'Delete' }).click();
    await page.getByText('No volumes yet').waitFor();
  });

  it('canary: shows both sides, and sends all visitors to the new release', async () => {
    const { page } = window;
    const web = await make('tried', 'web', { repository: 'https://example.com/tried.git', plan: 'starter' });
    await pretendLive(api.db, web.id);
    const id = await pretendCanary(api.db, web.id);
    await openService(web, '');
    await page.getByText('10 % of visitors get the new release.').waitFor();
    await page.getByRole('row', { name: 'New 40 2 (5 %) 9 ms 10 ms 0' }).waitFor();
    await window.look('canary');
    await openService(web, `/d/${id}`);
    await page.getByRole('button', { name: 'Send all visitors back' }).waitFor();
    await window.look('canary-of-a-deployment');
    await page.getByRole('button', { name: 'Send all visitors to it' }).click();
    await page.getByText('All visitors got the new release: promoted by').waitFor();
    const { live_deployment_id: live } = await api.db('services').where({ id: web.id }).first();
    expect(live).to.equal(id);
  });

  it('rules: says what is wrong with them, saves them, and shows no password', async () => {
    const { page } = window;
    const web = await make('ruled', 'web', { repository: 'https://example.com/ruled.git', plan: 'starter' });
    await openService(web, '/domains');
    const area = page.getByLabel('Rules as JSON');
    const save = page.getByRole('button', { name: 'Save rules' });
    await area.fill('{');
    await page.getByText('This is not a JSON list').waitFor();
    await area.fill('[{ "type": "redirect", "from": "/a", "to": "/a" }]');
    await save.click();
    await page.getByText('redirects in a loop').first().waitFor();
    const rule = { type: 'basicAuth', for: '/admin/*', users: [{ name: 'anna', password: 'secret-word' }] };
    await area.fill(JSON.stringify([rule]));
    await save.click();
    await eventually('the stored rules are shown', async () => {
      const text = await area.inputValue();
      return text.includes('anna') && !text.includes('secret-word');
    });
    await window.look('rules');
    const { body } = await workspace.owner.client.get(`${workspace.path}/services/${web.id}/rules`);
    expect(body.rules).to.deep.equal([{ ...rule, users: [{ name: 'anna' }] }]);
  });

  it('groups: variables that services share', async () => {
    const { page } = window;
    await open('/settings/groups');
    await page.getByText('No environment groups yet').waitFor();
    await window.look('groups-empty');
    await page.getByLabel('Name').fill('mail server');
    await page.getByRole('button', { name: 'Create group' }).click();
    await page.getByLabel('Another service').selectOption({ label: 'shop' });
    await page.getByRole('button', { name: 'Link', exact: true }).click();
    await page.getByRole('link', { name: 'shop', exact: true }).waitFor();
    await page.getByLabel('Key', { exact: true }).fill('SMTP_HOST');
    await page.getByLabel('Value').fill('mail.example.com');
    await page.getByRole('button', { name: 'Add', exact: true }).click();
    await page.getByRole('button', { name: 'Save', exact: true }).click();
    await page.getByText('The changes take effect with the next deployment of each').waitFor();
    await window.look('group');
    await page.getByRole('button', { name: 'Unlink shop' }).click();
    await page.getByText('None yet.').waitFor();
    await page.getByRole('link', { name: 'All groups' }).click();
    await page.getByText('0 services').waitFor();
    await window.look('groups');
    await page.getByRole('link', { name: 'mail server' }).click();
    await page.getByRole('button', { name: 'Delete group…' }).click();
    await page.getByRole('button', { name: 'Delete group' }).click();
    await page.getByText('No environment groups yet').waitFor();
  });

  it('webhooks: says who is told of what', async () => {
    const { page } = window;
    await open('/settings/webhooks');
    await page.getByText('No webhooks yet').waitFor();
    await page.getByLabel('URL').fill('https://example.com/ranvier');
    await page.getByLabel('A deployment went live').check();
    await window.look('webhooks-empty');
    await page.getByRole('button', { name: 'Add webhook' }).click();
    expect((await shownOnce('Secret')).length).to.be.greaterThan(20);
    await page.getByText('no deliveries yet').waitFor();
    await window.look('webhooks');
    await page.getByRole('button', { name: 'Delete https://example.com/ranvier' }).click();
    await page.getByRole('dialog').getByRole('button', { name: 'Delete' }).click();
    await page.getByText('No webhooks yet').waitFor();
  });

  it('alerts: adds a rule, shows how it stands, and deletes it', async () => {
    const { page } = window;
    await open('/settings/alerts');
    await page.getByText('No alert rules yet').waitFor();
    await page.getByLabel('Watch').selectOption('disk');
    await page.getByLabel('Above').fill('70');
    await window.look('alerts-empty');
    await page.getByRole('button', { name: 'Add alert rule' }).click();
    await page.getByText('Not looked at yet').waitFor();
    const [rule] = await api.db('alert_rules');
    const state = { alert_id: rule.id, service_id: shop.id, status: 'firing', value: 81.5, since: new Date() };
    await api.db('alert_states').insert({ ...state, run: 0, return_minutes: 5, seen_at: new Date() });
    await open('/settings/alerts');
    await page.getByText('81.5 %').waitFor();
    await window.look('alerts');
    await page.getByRole('button', { name: 'Delete Disk use above 70 % for 5 minutes' }).click();
    await page.getByRole('dialog').getByRole('button', { name: 'Delete' }).click();
    await page.getByText('No alert rules yet').waitFor();
  });

  it('drains: says what is sent where, and shows no header', async () => {
    const { page } = window;
    await open('/settings/webhooks');
    await page.getByText('No drains yet').waitFor();
    await page.getByLabel('Endpoint').fill('https://otlp.example.com');
    await page.getByLabel('Metrics').uncheck();
    await page.getByLabel('Value of the header').fill('Bearer secret-word');
    await page.getByRole('button', { name: 'Add drain' }).click();
    await page.getByText('logs, traces, with Authorization: nothing sent yet').waitFor();
    expect(await page.content()).to.not.include('secret-word');
    await window.look('drains');
    await page.getByRole('button', { name: 'Delete the drain to https://otlp.example.com' }).click();
    await page.getByRole('dialog').getByRole('button', { name: 'Delete' }).click();
    await page.getByText('No drains yet').waitFor();
  });

  it('deploy key and usage', async () => {
    const { page } = window;
    await api.db('ssh_hosts').insert({
      id: uuidv7(),
      workspace_id: workspace.id,
      host: 'git.example.com',
      keys: 'ssh-ed25519 AAAAC3NzaC1lZDI1NTE5AAAAIOMqqnkVzrm0SdG6UOoqKLsabgH5C9okWi0dh2l9GKJl',
    });
    await open('/settings/deploy-key');
    await page
      .getByText(/^ssh-ed25519 /)
      .first()
      .waitFor();
    await page.getByRole('button', { name: 'Forget git.example.com' }).waitFor();
    await window.look('deploy-key');
    await page.getByRole('button', { name: 'Forget git.example.com' }).click();
    await page.getByRole('button', { name: 'Forget host keys' }).click();
    await page.getByText('None yet.').waitFor();
    await api
      .db('workspaces')
      .where({ id: workspace.id })
      .update({ configuration: { budget: 20 } });
    await open('/settings/usage');
    await page.getByRole('cell', { name: 'PostgreSQL' }).waitFor();
    await page.getByText('of the budget used').waitFor();
    await window.look('usage');
  });

  it('account: switches the second factor on and off, and the session goes on', async () => {
    const { page } = window;
    await open('/account');
    await page.getByRole('button', { name: 'Turn on' }).click();
    await page.getByLabel('Your password').fill('wrong');
    await page.getByRole('button', { name: 'Continue' }).click();
    await page.getByRole('alert').waitFor();
    await page.getByLabel('Your password').fill(PASSWORD);
    await page.getByRole('button', { name: 'Continue' }).click();
    await page.getByRole('img', { name: 'The secret as a QR code' }).waitFor();
    const secret = ((await page.getByRole('dialog').locator('code').textContent()) ?? '').replaceAll(' ', '');
    await window.checkAccess('the secret of an authenticator');
    await window.picture('account-enrol');
    const totp = new TOTP({ secret: Secret.fromBase32(secret) });
    await page.getByLabel('Authentication code').fill(totp.generate());
    await page.getByRole('dialog').getByRole('button', { name: 'Turn on' }).click();
    await page.getByText('Two-factor authentication is on').waitFor();
    expect(await page.content()).to.not.include(secret.slice(0, 8));
    await page.getByRole('button', { name: 'Turn off' }).waitFor();
    await window.look('account');
    // A code is valid once, so the next one is used.
    await page.getByRole('button', { name: 'Turn off' }).click();
    await page.getByLabel('Authentication code').fill(totp.generate({ timestamp: Date.now() + 30_000 }));
    await page.getByRole('dialog').getByRole('button', { name: 'Turn off' }).click();
    await page.getByText('Two-factor authentication is off').waitFor();
  });

  it('invitations: somebody without an account gets an e-mail, chooses a password, and is a member', async () => {
    const { page } = window;
    await open('/settings/members');
    await page.getByLabel('E-mail address').fill('grace@example.test');
    await page.getByRole('button', { name: 'Invite member' }).click();
    await page.getByRole('button', { name: 'Invite by e-mail' }).waitFor();
    await window.look('members-unknown');
    await page.getByRole('button', { name: 'Invite by e-mail' }).click();
    await page.getByRole('button', { name: 'Withdraw grace@example.test' }).waitFor();
    await window.look('members-invited');
    const [, token = ''] = /\/invitation#(\S+)/.exec(smtp.mails.at(-1)?.text ?? '') ?? [];
    const guest = await browser.window();
    await guest.page.goto(`${browser.url}/invitation#${token}`);
    await guest.page.getByLabel('Choose a password').fill('a password of my own');
    expect(guest.page.url()).to.not.include(token);
    await guest.look('invitation');
    await guest.page.getByRole('button', { name: 'Join' }).click();
    await guest.page.waitForURL(/\/w\//);
    await page.reload();
    await page.getByLabel('Role of grace@example.test').waitFor();
    const again = await browser.window();
    await again.page.goto(`${browser.url}/invitation#${token}`);
    await again.page.getByLabel('Choose a password').fill('a password of my own');
    await again.page.getByRole('button', { name: 'Join' }).click();
    await again.page.getByText('ask for another invitation').waitFor();
    await again.page.getByRole('button', { name: 'I have an account already' }).click();
    await again.page.getByRole('heading', { name: 'Sign in to Ranvier' }).waitFor();
  });

  it('states: no permission, archived, deleting, an error with its request, and nothing there', async () => {
    const { page } = window;
    const reader = await workspace.member('viewer');
    const asViewer = await ConsoleBrowser.onApi(api, reader.email);
    try {
      const viewer = await asViewer.signedIn();
      const pages = ['/hooks', '/previews', '/variables', '/domains', '/settings', ''];
      for (const rest of pages) {
        await openService(shop, rest, viewer);
        await viewer.page.locator('[aria-disabled="true"][title^="This needs the role"]').first().waitFor();
        await viewer.checkAccess(`${rest} for a viewer`);
      }
      for (const rest of [
        '/settings/webhooks',
        '/settings/alerts',
        '/settings/groups',
        '/settings/deploy-key',
        '/settings/members',
      ]) {
        await open(rest, viewer);
        await viewer.page.locator('main section').first().waitFor();
        await viewer.checkAccess(`${rest} for a viewer`);
      }
      await viewer.picture('no-permission');
      expect(asViewer.problems()).to.deep.equal([]);
    } finally {
      await asViewer.close();
    }
    const old = await make('old', 'web', { repository: 'https://example.com/old.git' });
    await workspace.owner.client.post(`${workspace.path}/services/${old.id}/archive`);
    await openService(old, '/hooks');
    await page.getByText('This service is archived').waitFor();
    await window.look('archived');
    await api.db('services').where({ id: old.id }).update({ lifecycle_status: 'deleting', archived: false });
    await page.getByText('This service is being deleted').waitFor({ timeout: 60_000 });
    await page.locator('[aria-disabled="true"][title="The service is being deleted"]').first().waitFor();
    await window.look('deleting');
    const failing = /\/webhooks/;
    await page.route(failing, (route) =>
      route.request().resourceType() === 'fetch'
        ? route.fulfill({
            status: 500,
            contentType: 'application/json',
            body: JSON.stringify({ error: { code: 'internal_error', message: 'Something failed' }, requestId: 'r-1' }),
          })
        : route.continue(),
    );
    await open('/settings/webhooks');
    await page.getByText('r-1').waitFor();
    await window.look('error');
    await page.unroute(failing);
    await page.getByRole('button', { name: 'Try again' }).click();
    await page.getByText('No webhooks yet').waitFor();
    await open(`/s/${uuidv7()}/hooks`);
    await page.getByText('Not found').waitFor();
    await window.look('gone');
  });

  it('can be used with the keyboard alone', async () => {
    const { page } = window;
    await openService(shop, '/hooks');
    await page.getByRole('button', { name: 'Add webhook' }).waitFor();
    const seen = new Set<string>();
    for (let count = 0; count < 80; count++) {
      await page.keyboard.press('Tab');
      const name = (await page.evaluate(
        `document.activeElement === document.body ? '' :
          (document.activeElement.getAttribute('aria-label') || document.activeElement.labels?.[0]?.textContent || document.activeElement.textContent)`,
      )) as string;
      if (name === '' || seen.has(name)) break;
      seen.add(name);
    }
    expect([...seen]).to.include.members([
      'Skip to content',
      'Canvas',
      'Webhooks',
      'Previews',
      'Provider',
      'Add webhook',
    ]);
    const link = page.getByRole('button', { name: 'Add webhook' });
    await link.focus();
    await page.keyboard.press('Enter');
    await page.getByRole('dialog').waitFor();
    await page.keyboard.press('Escape');
    await page.getByRole('dialog').waitFor({ state: 'detached' });
    await page.waitForFunction(`document.activeElement?.textContent === 'Add webhook'`);
  });

  it('caused no error, and no request that the document does not know', () => {
    expect(browser.problems()).to.deep.equal([]);
  });
});
