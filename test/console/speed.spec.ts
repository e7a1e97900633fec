import { expect } from 'chai';
import type { Page } from 'playwright-core';
import { buildConsole } from '../../api/pages/console-build.js';
import { rowsOf } from '../../shared/core/database/database-client.js';
import { newService, startTestApi, type TestApi, type TestWorkspace } from '../support/api.js';
import { ConsoleBrowser, describeConsole, type Window } from '../support/console.js';

const NODES = 2000;
const LINES = 100_000;
const BATCH = 5000;
/** Sixty frames per second on a quiet machine. A busy one gets twice the time. */
const FRAME_MS = 2 * (1000 / 60);
/** Twice the promised second for a median of five first paints, because other work keeps the machine busy. */
const FIRST_PAINT_MS = 2000;

describeConsole('The console’s speed', () => {
  let api: TestApi;
  let workspace: TestWorkspace;
  let browser: ConsoleBrowser;
  let window: Window;

  before(async () => {
    await buildConsole();
    api = await startTestApi();
    workspace = await api.workspace();
    const { id } = await newService(workspace.owner.client, workspace.path);
    const copied = await rowsOf<{ names: string }>(
      api.db,
      `select string_agg(quote_ident(column_name), ', ') as names from information_schema.columns
        where table_name = 'services' and table_schema = 'public' and column_name not in ('id', 'slug', 'name') and is_identity = 'NO'`,
      {},
    );
    await api.db.raw(
      `insert into services (id, slug, name, ${copied[0]?.names})
       select gen_random_uuid(), 'copy-' || n, 'copy ' || n, ${copied[0]?.names}
         from services, generate_series(1, ?) n where id = ?`,
      [NODES - 1, id],
    );
    browser = await ConsoleBrowser.onApi(api, workspace.owner.email);
  });
  after(async () => {
    await browser?.close();
    await api?.close();
  });

  it('paints the sign-in page soon', async () => {
    const times: number[] = [];
    for (let count = 0; count < 5; count++) {
      const { page, context } = await browser.window();
      await page.goto(`${browser.url}/`);
      await page.getByRole('button', { name: 'Sign in' }).waitFor();
      times.push(
        (await page.evaluate(`performance.getEntriesByName('first-contentful-paint')[0]?.startTime ?? 1e9`)) as number,
      );
      await context.close();
    }
    times.sort((a, b) => a - b);
    report(`first contentful paint: ${times.map(Math.round).join(', ')} ms`);
    expect(times[2]).to.be.below(FIRST_PAINT_MS);
  });

  /** Measures the processor time of the page's main thread for each step, which other programs do not change. */
  const measure = async (what: string, steps: number, step: (count: number) => Promise<unknown>): Promise<void> => {
    const session = await window.context.newCDPSession(window.page);
    await session.send('Performance.enable', { timeDomain: 'threadTicks' });
    const busySeconds = async () => {
      const { metrics } = await session.send('Performance.getMetrics');
      return metrics.find(({ name }) => name === 'TaskDuration')?.value ?? 0;
    };
    const before = await busySeconds();
    for (let count = 1; count <= steps; count++) await step(count);
    const each = (((await busySeconds()) - before) * 1000) / steps;
    await session.detach();
    report(`${what}: ${each.toFixed(1)} ms of the main thread for each frame`);
    expect(each, what).to.be.below(FRAME_MS);
  };

  it(`drags and pans ${NODES} nodes within the time of a frame`, async () => {
    window = await browser.signedIn();
    const { page } = window;
    const painted = page.getByRole('img', { name: /^\d+ services from far away/ });
    await painted.waitFor();
    expect(await page.locator('.react-flow__node').count(), 'elements').to.be.below(10);
    const drag = async (what: string, from: { x: number; y: number }) => {
      await page.mouse.move(from.x, from.y);
      await page.mouse.down();
      await measure(what, 120, (count) => page.mouse.move(from.x + count * 2, from.y + (count % 40)));
      await page.mouse.up();
    };
    const card = await underPointer(page);
    const saved = page.waitForRequest((request) => request.method() === 'PATCH');
    await drag('drag', card);
    const { positions } = (await saved).postDataJSON() as { positions: object };
    expect(Object.keys(positions).length, 'places that are saved').to.equal(NODES);
    await drag('pan', { x: 20, y: 400 });
  });

  it(`scrolls a log of ${LINES} lines within the time of a frame`, async () => {
    const { page } = window;
    await page.route(/\/logs\?/, (route) => {
      const after = Number(new URL(route.request().url()).searchParams.get('after') ?? 0);
      const items = Array.from({ length: Math.min(BATCH, LINES - after) }, (_, index) => lineOf(after + index + 1));
      const cursor = after + items.length;
      return route.fulfill({ json: { items, cursor, hasMore: cursor < LINES } });
    });
    const [service] = (await workspace.owner.client.get(`${workspace.path}/services?limit=1`)).body.services;
    await page.goto(`${browser.url}/w/${workspace.id}/s/${service.id}/logs`);
    await page.getByText(`line ${LINES} of`).waitFor();
    const pane = page.getByRole('log');
    expect(await pane.locator('time').count(), 'rows in the page').to.be.below(300);
    await pane.hover();
    await measure('scroll', 120, () => page.mouse.wheel(0, -700));
    await measure('jump', 40, (count) =>
      pane.evaluate(
        (element, place) => {
          element.scrollTop = element.scrollHeight * place;
          return new Promise((done) => (globalThis as unknown as Frames).requestAnimationFrame(() => done(null)));
        },
        ((count * 17) % 40) / 40,
      ),
    );
    await pane.evaluate((element) => {
      element.scrollTop = 0;
    });
    await page.getByText('line 1 of').waitFor();
  });

  it('caused no error', () => {
    expect(browser.problems()).to.deep.equal([]);
  });
});

interface Frames {
  requestAnimationFrame(callback: () => void): void;
}

async function underPointer(page: Page): Promise<{ x: number; y: number }> {
  for (let count = 0; count < 60; count++) {
    const [x, y] = [400 + count * 5, 380 + (count % 12)];
    await page.mouse.move(x, y);
    await page.waitForTimeout(100);
    const [node] = await page.locator('.react-flow__node').all();
    const box = await node?.boundingBox();
    if (box && x > box.x && x < box.x + box.width && y > box.y && y < box.y + box.height) return { x, y };
  }
  throw new Error('no node is on the screen');
}

function lineOf(id: number): object {
  const message = `line ${id} of a program that says what it does, \u001b[32mwith colours\u001b[0m`;
  return {
    id,
    timestamp: new Date(id * 1000).toISOString(),
    level: 'info',
    source: 'runtime',
    message,
    deploymentId: null,
  };
}

function report(text: string): void {
  process.stdout.write(`      ${text}\n`);
}
