import { expect } from 'chai';
import { Sensitive } from '../../shared/core/sensitive.js';
import { newService, startTestApi, type TestApi, useTestApi } from '../support/api.js';
import { describeEngines } from '../support/platform.js';
import { pretendLive } from '../support/records.js';

const TOKEN = 'a-token-of-prometheus';

describeEngines('What operators see', (queues) => {
  let api: TestApi;
  let ending = false;

  useTestApi((given) => ({ api } = given), {
    dashboard: { user: 'operator', password: new Sensitive('sesame') },
    metricsToken: new Sensitive(TOKEN),
    isEnding: () => ending,
    queues,
  });

  const basic = (text: string) => ({ Authorization: `Basic ${Buffer.from(text).toString('base64')}` });
  const get = (path: string, headers: Record<string, string> = {}) => fetch(api.url + path, { headers });

  it('/healthz: the process is up', async () => {
    expect((await get('/healthz')).status).to.equal(200);
  });

  it('/readyz: database and queues are there; 503 once the process ends', async () => {
    expect((await get('/readyz')).status).to.equal(200);
    ending = true;
    try {
      const response = await get('/readyz');
      expect(response.status).to.equal(503);
      expect(response.headers.get('connection')).to.equal('close');
    } finally {
      ending = false;
    }
  });

  it('/metrics: requests, queues, workers, deployments and the time of their steps', async () => {
    const { owner, path } = await api.workspace();
    const service = await newService(owner.client, path);
    const step = { name: 'build', startedAt: '2026-01-01T00:00:00.000Z', finishedAt: '2026-01-01T00:00:04.000Z' };
    await pretendLive(api.db, service.id, { steps: JSON.stringify([step]) });
    for (const headers of [{}, basic('operator:wrong'), { Authorization: 'Bearer x' }]) {
      const refused = await get('/metrics', headers as Record<string, string>);
      expect(refused.status).to.equal(401);
      expect(await refused.text()).to.not.contain('ranvier_');
    }
    const text = await (await get('/metrics', basic('operator:sesame'))).text();
    expect(await (await get('/metrics', { Authorization: `Bearer ${TOKEN}` })).text()).to.contain('ranvier_workers');
    expect(text).to.match(
      /ranvier_http_request_duration_seconds_count\{[^}]*route="\/workspaces\/:workspaceId\/services"/,
    );
    expect(text).to.match(/ranvier_queue_jobs\{queue="deploy",state="waiting"\} 0/);
    expect(text).to.contain('ranvier_workers_online 0');
    expect(text).to.contain('ranvier_deployments{status="live"} 1');
    expect(text).to.contain('ranvier_deployment_step_seconds{step="build",quantile="0.5"} 4');
    expect(text).to.not.contain(service.id);
  });

  describe('the dashboard', () => {
    it('takes the user name and the password', async () => {
      for (const headers of [
        {},
        basic('operator:wrong'),
        basic('other:sesame'),
        basic(''),
        { Authorization: 'Bearer x' },
      ]) {
        for (const path of ['/admin/queues', '/admin/queues/', '/admin/queues/api/queues', '/admin/queues/static/x']) {
          const response = await get(path, headers as Record<string, string>);
          expect(response.status, path).to.equal(401);
          expect(response.headers.get('www-authenticate')).to.match(/^Basic/);
        }
      }
    });

    it('shows every queue and loads nothing from elsewhere', async () => {
      const page = await get('/admin/queues/', basic('operator:sesame'));
      expect(page.status).to.equal(200);
      expect(page.headers.get('content-security-policy')).to.contain("default-src 'self'");
      const html = await page.text();
      const [, script = ''] = /<script[^>]* src="([^"]+main[^"]+)"/.exec(html) ?? [];
      const [, base = ''] = /<base href="([^"]+)"/.exec(html) ?? [];
      const asset = await get(new URL(script, new URL(base, api.url)).pathname, basic('operator:sesame'));
      expect(asset.status).to.equal(200);
      const response = await get('/admin/queues/api/queues', basic('operator:sesame'));
      const { queues } = (await response.json()) as { queues: { name: string }[] };
      expect(queues.map(({ name }) => name)).to.have.members(Object.keys(api.engine.queues));
    });

    it('loads nothing from another host, and sends its Referer only to its own origin', async () => {
      const html = await (await get('/admin/queues/', basic('operator:sesame'))).text();
      const references = [...html.matchAll(/(?:src|href)="([^"]*)"/g)].map((match) => match[1] ?? '');
      expect(references.length).to.be.greaterThan(3);
      expect(references.filter((text) => /^(?:[a-z]+:)?\/\//i.test(text))).to.deep.equal([]);
      const [, base = ''] = /<base href="([^"]+)"/.exec(html) ?? [];
      for (const sheet of references.filter((text) => text.endsWith('.css'))) {
        const path = new URL(sheet, new URL(base, api.url)).pathname;
        const css = await (await get(path, basic('operator:sesame'))).text();
        expect(css).to.not.match(/(?:url\(|@import)\s*["']?(?:https?:)?\/\//);
      }
    });

    it('counts jobs of a paused queue', async () => {
      const queue = api.engine.queues.deploy;
      await api.engine.add([{ queue: 'deploy', recordId: 'x', dispatch: 1, payload: { deploymentId: 'x' } }]);
      await queue.pause();
      const response = await get('/admin/queues/api/queues', basic('operator:sesame'));
      const { queues } = (await response.json()) as { queues: { name: string; counts: Record<string, number> }[] };
      const deploy = queues.find(({ name }) => name === 'deploy');
      expect((deploy?.counts.waiting ?? 0) + (deploy?.counts.paused ?? 0)).to.equal(1);
      await queue.resume();
    });

    it('refuses changes that another site’s page asks for', async () => {
      const pause = (headers: Record<string, string>) =>
        fetch(`${api.url}/admin/queues/api/queues/deploy/pause`, {
          method: 'PUT',
          headers: { ...basic('operator:sesame'), ...headers },
        });
      expect((await pause({ 'Sec-Fetch-Site': 'cross-site' })).status).to.equal(403);
      expect((await pause({ 'Sec-Fetch-Site': 'same-origin' })).status).to.equal(200);
      await api.engine.queues.deploy.resume();
    });
  });

  it('without configured credentials there is no dashboard', async () => {
    const plain = await startTestApi({ queues });
    try {
      expect((await fetch(`${plain.url}/admin/queues`)).status).to.equal(404);
    } finally {
      await plain.close();
    }
  });
});
