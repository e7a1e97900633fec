import { expect } from 'chai';
import { buildConsole } from '../../api/pages/console-build.js';
import { rowsOf } from '../../shared/core/database/client.js';
import { newService, startTestApi, type TestApi, type TestWorkspace } from '../support/api.js';
import { CHROMIUM, ConsoleBrowser, type Window } from '../support/console.js';

const NODES = 2000;
/** Sixty frames a second on a quiet machine. The caches of a busy one are shared: it gets twice as long. */
const FRAME_MS = 2 * (1000 / 60);
/** The first paint, median of five: twice the second that we promise, for the same reason. */
const FIRST_PAINT_MS = 2000;

const suite = CHROMIUM === null ? describe.skip : describe;

suite(`The console’s speed${CHROMIUM === null ? ': chromium is not installed' : ''}`, function () {
  this.timeout(300_000);
  let api: TestApi;
  let workspace: TestWorkspace;
  let browser: ConsoleBrowser;
  let window: Window;

  before(async () => {
    await buildConsole();
    api = await startTestApi();
    workspace = await api.workspace();
    const { id } = await newService(workspace.owner.client, workspace.path);
    // The others are copies of its row.
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
    browser = await ConsoleBrowser.open({
      url: api.url.replace('127.0.0.1', 'localhost'),
      db: api.db,
      email: workspace.owner.email,
    });
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

  it(`drags and pans ${NODES} nodes within the time of a frame`, async () => {
    window = await browser.signedIn();
    const { page } = window;
    await page.locator('.react-flow__node').first().waitFor();
    const session = await window.context.newCDPSession(page);
    // The thread's own time: other programs of a busy machine do not count.
    await session.send('Performance.enable', { timeDomain: 'threadTicks' });
    const busySeconds = async () => {
      const { metrics } = await session.send('Performance.getMetrics');
      return metrics.find(({ name }) => name === 'TaskDuration')?.value ?? 0;
    };
    const measure = async (what: string, from: { x: number; y: number }) => {
      await page.mouse.move(from.x, from.y);
      await page.mouse.down();
      const before = await busySeconds();
      const moves = 120;
      for (let step = 1; step <= moves; step++) {
        await page.mouse.move(from.x + step * 2, from.y + (step % 40));
      }
      const each = (((await busySeconds()) - before) * 1000) / moves;
      await page.mouse.up();
      report(`${what}: ${each.toFixed(1)} ms of the main thread for each frame`);
      expect(each, what).to.be.below(FRAME_MS);
    };
    const card = await page.locator('.react-flow__node').first().boundingBox();
    if (!card) throw new Error('no node is on the screen');
    await measure('drag', { x: card.x + card.width / 2, y: card.y + card.height / 2 });
    await measure('pan', { x: 20, y: 400 });
  });

  it('caused no error', () => {
    expect(browser.problems()).to.deep.equal([]);
  });
});

function report(text: string): void {
  process.stdout.write(`      ${text}\n`);
}
