import { existsSync } from 'node:fs';
import { mkdir, readFile } from 'node:fs/promises';
import { createRequire } from 'node:module';
import { join } from 'node:path';
import { gzipSync } from 'node:zlib';
import type { Suite } from 'mocha';
import { type Browser, type BrowserContext, chromium, type Page } from 'playwright-core';
import { CONSOLE_FOLDER, readCurrent } from '../../api/pages/console-build.js';
import type { Db } from '../../shared/core/database/database-client.js';
import { createSignInLink } from '../../shared/identity/sign-in.js';
import type { TestApi } from './api.js';
import { OPERATIONS } from './openapi.js';
import type { Platform } from './platform.js';

const CHROMIUM =
  ['/usr/bin/chromium', '/usr/bin/chromium-browser', '/usr/bin/google-chrome'].find((path) => existsSync(path)) ?? null;

/** Describes tests in a browser, which are skipped without one. A failed test leaves screenshots. */
export function describeConsole(title: string, define: (this: Suite) => void): void {
  const suite = CHROMIUM === null ? describe.skip : describe;
  suite(`${title}${CHROMIUM === null ? ': chromium is not installed' : ''}`, function () {
    this.timeout(300_000);
    afterEach(async function () {
      if (this.currentTest?.state === 'failed') {
        await Window.first?.picture(`failed-${this.currentTest.title.slice(0, 20)}`);
      }
    });
    define.call(this);
  });
}

const PICTURES = process.env.CONSOLE_PICTURES ?? '';

const OWNER = 'owner@example.test';
const DESKTOP = { width: 1280, height: 800 };
const PHONE = { width: 390, height: 844 };

const KNOWN = OPERATIONS.map(({ method, fullPath }) => ({
  method,
  pattern: new RegExp(`^${fullPath.replace(/\{\w+\}/g, '[^/]+')}$`),
}));

/** A browser window with the console. It records errors that a user would not see. */
export class Window {
  static first: Window | null = null;
  readonly context: BrowserContext;
  readonly page: Page;
  /** Errors in the browser's console, undocumented requests, and accessibility problems that axe finds. */
  readonly problems: string[] = [];
  offline = false;

  constructor(context: BrowserContext, page: Page) {
    this.context = context;
    this.page = page;
    page.on('pageerror', (error) => this.problems.push(`exception: ${error.message}`));
    page.on('console', (message) => {
      // The browser logs lost connections and answers such as 401 and 409, which are expected.
      if (message.type() === 'error' && !/Failed to load resource/.test(message.text())) {
        this.problems.push(message.text());
      }
    });
    page.on('request', (request) => {
      const { pathname } = new URL(request.url());
      if (!pathname.startsWith('/api/') || pathname === '/api/v1/openapi.json') return;
      if (!KNOWN.some(({ method, pattern }) => method === request.method() && pattern.test(pathname))) {
        this.problems.push(`undocumented request: ${request.method()} ${pathname}`);
      }
    });
  }

  async goOffline(offline: boolean): Promise<void> {
    this.offline = offline;
    await this.context.setOffline(offline);
  }

  async follow(navigation: RegExp | string, link: string): Promise<void> {
    await this.page
      .getByRole('navigation', { name: navigation })
      .getByRole('link', { name: link, exact: true })
      .click();
  }

  async checkAccess(what: string): Promise<void> {
    const axe = await readFile(createRequire(import.meta.url).resolve('axe-core/axe.min.js'), 'utf8');
    for (const colorScheme of ['light', 'dark'] as const) {
      await this.page.emulateMedia({ colorScheme });
      await this.page.evaluate(axe);
      const found = (await this.page.evaluate(
        `axe.run().then(({ violations }) => violations.flatMap(({ id, nodes }) =>
          nodes.map(({ target, failureSummary }) => id + ' ' + target.join(' ') + ' ' + failureSummary.split('\\n')[1])))`,
      )) as string[];
      this.problems.push(...found.map((text) => `axe on ${what} (${colorScheme}): ${text}`));
    }
    await this.page.emulateMedia({ colorScheme: 'light' });
  }

  async look(name: string): Promise<void> {
    await this.checkAccess(name);
    await this.picture(name);
  }

  /** Saves screenshots in both themes, and at the width of a phone. */
  async picture(name: string, { phone = true } = {}): Promise<void> {
    if (PICTURES === '') return;
    await mkdir(PICTURES, { recursive: true });
    const { page } = this;
    for (const colorScheme of ['light', 'dark'] as const) {
      await page.emulateMedia({ colorScheme });
      await page.screenshot({ path: join(PICTURES, `${name}-${colorScheme}.png`) });
    }
    await page.emulateMedia({ colorScheme: 'light' });
    if (!phone) return;
    await page.setViewportSize(PHONE);
    await page.waitForTimeout(300);
    const { wide, shown } = await page.evaluate(() => {
      const { scrollWidth, clientWidth } = (globalThis as unknown as { document: { documentElement: HTMLElementLike } })
        .document.documentElement;
      return { wide: scrollWidth, shown: clientWidth };
    });
    await page.screenshot({ path: join(PICTURES, `${name}-phone.png`) });
    await page.setViewportSize(DESKTOP);
    if (wide > shown) this.problems.push(`${name} scrolls sideways on a phone: ${wide} of ${shown} pixels`);
  }
}

interface HTMLElementLike {
  scrollWidth: number;
  clientWidth: number;
}

interface Place {
  url: string;
  db: Db;
  email: string;
}

/** A browser whose windows all show the same console. */
export class ConsoleBrowser {
  readonly url: string;
  readonly #browser: Browser;
  readonly #db: Db;
  readonly #email: string;
  readonly #windows: Window[] = [];

  private constructor(browser: Browser, { url, db, email }: Place) {
    this.#browser = browser;
    this.url = url;
    this.#db = db;
    this.#email = email;
  }

  static async open(place: Place): Promise<ConsoleBrowser> {
    if (CHROMIUM === null) throw new Error('there is no Chromium');
    const args = process.getuid?.() === 0 ? ['--no-sandbox'] : [];
    return new ConsoleBrowser(await chromium.launch({ executablePath: CHROMIUM, args }), place);
  }

  static onPlatform({ apiPort, database }: Platform): Promise<ConsoleBrowser> {
    return ConsoleBrowser.open({ url: `http://localhost:${apiPort}`, db: database.db, email: OWNER });
  }

  static onApi({ url, db }: TestApi, email: string): Promise<ConsoleBrowser> {
    return ConsoleBrowser.open({ url: url.replace('127.0.0.1', 'localhost'), db, email });
  }

  async window(): Promise<Window> {
    const context = await this.#browser.newContext({ viewport: DESKTOP, reducedMotion: 'reduce' });
    const window = new Window(context, await context.newPage());
    // Long, because a busy machine delays everything.
    window.page.setDefaultTimeout(180_000);
    this.#windows.push(window);
    Window.first ??= window;
    return window;
  }

  async link(): Promise<string> {
    return `${this.url}/sign-in#${await createSignInLink(this.#db, this.#email)}`;
  }

  async signedIn(): Promise<Window> {
    const window = await this.window();
    await window.page.goto(await this.link());
    await window.page.waitForURL(/\/w\//);
    return window;
  }

  problems(): string[] {
    return this.#windows.flatMap(({ problems }) => problems);
  }

  async close(): Promise<void> {
    await this.#browser.close();
    if (this.#windows.some((window) => window === Window.first)) Window.first = null;
  }
}

type Manifest = Record<string, { file: string; css?: string[]; imports?: string[]; dynamicImports?: string[] }>;

/** Returns the gzipped bytes of the JavaScript that the home page loads. */
export async function firstScreenBytes(): Promise<number> {
  const current = await readCurrent();
  if (!current || current.error !== null) throw new Error(`the console is not built: ${current?.error}`);
  const folder = join(CONSOLE_FOLDER, current.version);
  const manifest: Manifest = JSON.parse(await readFile(join(folder, 'manifest.json'), 'utf8'));
  const needed = new Set<string>();
  const need = (name: string): void => {
    const part = manifest[name];
    if (!part || needed.has(part.file)) return;
    needed.add(part.file);
    for (const other of part.imports ?? []) need(other);
  };
  need('index.html');
  need('pages/canvas/canvas-page.tsx');
  const sizes = await Promise.all([...needed].map(async (file) => gzipSync(await readFile(join(folder, file))).length));
  return sizes.reduce((sum, size) => sum + size, 0);
}
