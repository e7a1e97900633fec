import { expect } from 'chai';
import { v7 as uuidv7 } from 'uuid';
import { buildConsole } from '../../api/pages/console-build.js';
import { Sensitive } from '../../shared/core/sensitive.js';
import { insertLogBatches } from '../../workers/logs/batch-store.js';
import { ingestLogs } from '../../workers/logs/ingest-batches.js';
import { type Json, newService, startTestApi, type TestApi, type TestWorkspace } from '../support/api.js';
import { ConsoleBrowser, describeConsole, type Window } from '../support/console.js';
import { newDeployment, pretendLive } from '../support/records.js';

const PASSWORD = 'sesame';
const TEXTS = [
  '<img src=x onerror=alert(1)>',
  '</script><script>alert(2)</script>',
  `"'><svg onload=alert(3)>`,
  'javascript:alert(4)',
  '<iframe srcdoc="<script>alert(5)</script>">',
  '<a href="javascript:alert(6)">press</a>',
] as const;
const ALL = TEXTS.join(' ');
const [SHORT] = TEXTS;
/** A script that lists elements which only a tenant's text could have made. */
const MADE = `[...document.querySelectorAll('*')].filter((element) => element.matches('script:not([src]), iframe, object, embed, img[src="x"]') ||
  [...element.attributes].some(({ name, value }) => /^on/i.test(name) || (/^(href|src|action|formaction|data|xlink:href)$/.test(name) &&
    /^\\s*(javascript|data:text|vbscript)/i.test(value)))).map((element) => element.outerHTML.slice(0, 200))`;

describeConsole('Stored texts of tenants', () => {
  let api: TestApi;
  let workspace: TestWorkspace;
  let browser: ConsoleBrowser;
  let window: Window;
  let service: Json;
  let deployment = '';
  let group: Json;

  before(async () => {
    await buildConsole();
    api = await startTestApi({ dashboard: { user: 'operator', password: new Sensitive(PASSWORD) } });
    workspace = await api.workspace();
    const { client } = workspace.owner;
    const { db } = api;
    await db('workspaces').where({ id: workspace.id }).update({ name: SHORT });
    const configuration = {
      repository: 'https://example.com/<script>alert(7)</script>.git',
      buildCommand: ALL,
      startCommand: ALL,
      maintenancePage: ALL,
      previewMode: 'manual',
    };
    service = await newService(client, workspace.path, { name: SHORT, kind: 'web', configuration });
    // Git allows this text as a branch name, and the API does not.
    await db('services').update({ configuration: { ...service.configuration, branch: SHORT } });
    const path = `${workspace.path}/services/${service.id}`;
    await pretendLive(db, service.id, { commit_sha: 'a'.repeat(40), commit_message: ALL, branch: SHORT, actor: ALL });
    deployment = await newDeployment(db, service.id, {
      status: 'failed',
      error: ALL,
      actor: ALL,
      branch: SHORT,
      commit_sha: 'b'.repeat(40),
      commit_message: ALL,
    });
    const lines = TEXTS.flatMap((text) => [
      text,
      `\u001b[31m${text}\u001b[0m`,
      `\u001b]8;;${text}\u0007${text}\u001b]8;;\u0007`,
    ]);
    await insertLogBatches(
      db,
      [null, deployment].map((deploymentId) => ({
        serviceId: service.id,
        deploymentId,
        source: 'runtime' as const,
        lines: lines.map((message) => ({ level: 'info' as const, message, timestamp: new Date().toISOString() })),
      })),
    );
    await ingestLogs(db, service.id);
    await client.post(`${workspace.path}/projects`, { name: SHORT, color: 'red' });
    group = (await client.post(`${workspace.path}/environment-groups`, { name: SHORT })).body.environmentGroup;
    await client.post(`${path}/hooks`, { provider: 'github' });
    await db('hooks').update({ delivered_at: new Date(), outcome: ALL });
    await client.post(`${workspace.path}/webhooks`, { url: 'https://example.com/', events: ['deployment.live'] });
    await db('webhooks').update({ delivered_at: new Date(), outcome: ALL });
    const { alert } = (await client.post(`${workspace.path}/alerts`, { metric: 'cpu', above: 1, forMinutes: 1 })).body;
    const state = { alert_id: alert.id, service_id: service.id, status: 'ok', run: 0, return_minutes: 5 };
    await db('alert_states').insert({ ...state, seen_at: new Date() });
    await db('pull_requests').insert({
      id: uuidv7(),
      service_id: service.id,
      number: 7,
      ref: 'refs/pull/7/head',
      title: ALL,
      author: ALL,
      branch: SHORT,
      target: SHORT,
      fork: true,
      head_sha: 'c'.repeat(40),
      open: true,
      reported_at: new Date(),
    });
    const own = { workspace_id: workspace.id, service_id: service.id };
    const hostname = '<img src=x onerror=alert(9)>.example.com';
    await db('domains').insert({ id: uuidv7(), ...own, hostname, status: 'active' });
    await db('ssh_hosts').insert({ id: uuidv7(), workspace_id: workspace.id, host: SHORT, keys: ALL });
    browser = await ConsoleBrowser.onApi(api, workspace.owner.email);
    window = await browser.signedIn();
    window.page.on('dialog', (dialog) => window.problems.push(`a script has run: ${dialog.message()}`));
  });
  after(async () => {
    await browser?.close();
    await api?.close();
  });

  it('run nowhere in the console, and become no part of its pages', async () => {
    const { page } = window;
    const ofService = ['', `/d/${deployment}`, '/logs', '/compare', '/variables', '/metrics', '/domains', '/previews'];
    const paths = [
      ...['', '/services', '/new', '/queue', '/settings', '/settings/members', '/settings/keys', '/settings/usage'],
      ...[
        '/settings/groups',
        `/settings/groups/${group.id}`,
        '/settings/webhooks',
        '/settings/alerts',
        '/settings/deploy-key',
      ],
      ...['/settings/audit', '/account'],
      ...[...ofService, '/hooks', '/settings'].map((rest) => `/s/${service.id}${rest}`),
    ];
    const shown = new Set<string>();
    for (const path of paths) {
      await page.goto(`${browser.url}/w/${workspace.id}${path}`);
      await page.locator('main section, main form, main h1, main h2').first().waitFor();
      await page.waitForLoadState('networkidle');
      expect(await page.evaluate(MADE), path).to.deep.equal([]);
      const text = (await page.evaluate('document.body.innerText')) as string;
      for (const one of [...TEXTS, 'alert(7)', 'alert(9)']) if (text.includes(one)) shown.add(one);
    }
    expect([...shown]).to.have.members([...TEXTS, 'alert(7)', 'alert(9)']);
    expect(browser.problems()).to.deep.equal([]);
  });

  it('run nowhere in the pages of the queues', async () => {
    const { page } = await browser.window();
    const problems: string[] = [];
    page.on('dialog', (dialog) => problems.push(dialog.message()));
    const queue = api.engine.queues.deploy;
    await queue.pause();
    const job = await queue.add(SHORT, { deploymentId: ALL });
    await job.log(TEXTS.join('\n'));
    await page.setExtraHTTPHeaders({
      Authorization: `Basic ${Buffer.from(`operator:${PASSWORD}`).toString('base64')}`,
    });
    for (const path of ['deploy', `deploy/${job.id}`, `deploy/${job.id}?status=waiting`]) {
      await page.goto(`${browser.url}/admin/queues/queue/${path}`);
      await page.getByText('alert(1)').first().waitFor();
      const made = (await page.evaluate(MADE)) as string[];
      expect(made.filter((html) => /alert\(/.test(html) && !/^<script id="__UI_CONFIG__"/.test(html))).to.deep.equal(
        [],
      );
    }
    await page.getByText('Logs', { exact: true }).first().click();
    await page.getByText('alert(4)').first().waitFor();
    const made = (await page.evaluate(MADE)) as string[];
    expect(made.filter((html) => html.includes('alert('))).to.deep.equal([]);
    expect(problems).to.deep.equal([]);
  });
});
