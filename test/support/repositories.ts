import { execFile, spawn, spawnSync } from 'node:child_process';
import { once } from 'node:events';
import { chmod, mkdir, mkdtemp, readFile, rm, symlink, writeFile } from 'node:fs/promises';
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { pathToFileURL } from 'node:url';
import { promisify } from 'node:util';
import { giveTo, PLATFORM_USER } from './platform-user.js';

const run = promisify(execFile);

export const hasGit = spawnSync('git', ['--version']).status === 0;

/** Path → content: text or bytes, `{ link }` for a symbolic link, `{ script }` for an executable file. */
export type Files = Record<string, string | Uint8Array | { link: string } | { script: string }>;

type Changes = Record<string, Files[string] | null>;

/** A git repository in a temporary folder. */
export class TestRepository {
  readonly folder: string;
  readonly #owner: number | null;

  constructor(folder: string, owner: number | null = null) {
    this.folder = folder;
    this.#owner = owner;
  }

  get url(): string {
    return pathToFileURL(this.folder).href;
  }

  async commit(message: string, changes: Changes): Promise<string> {
    await writeFiles(this.folder, changes);
    await this.git('add', '--all', '--force');
    await this.git('commit', '-q', '--allow-empty', '-m', message);
    await giveTo(this.#owner, this.folder);
    return this.git('rev-parse', 'HEAD');
  }

  async git(...args: string[]): Promise<string> {
    const identity = ['-c', 'user.name=Test', '-c', 'user.email=test@example.test', '-c', 'safe.directory=*'];
    const { stdout } = await run('git', [...identity, '-C', this.folder, ...args]);
    return stdout.trimEnd();
  }

  async remove(): Promise<void> {
    await rm(this.folder, { recursive: true, force: true });
  }
}

/** Creates a repository with one commit on `main`. */
export async function createRepository(
  files: Files,
  message = 'First commit',
  owner: number | null = null,
): Promise<TestRepository> {
  const repository = new TestRepository(await mkdtemp(join(tmpdir(), 'ranvier-repository-')), owner);
  await repository.git('init', '-q', '-b', 'main');
  await repository.commit(message, files);
  return repository;
}

/** Creates a repository of the platforms' user, so that their git reads it by its path. */
export function createPlatformRepository(files: Files, message?: string): Promise<TestRepository> {
  return createRepository(files, message, PLATFORM_USER);
}

export async function writeFiles(folder: string, changes: Changes): Promise<void> {
  for (const [name, content] of Object.entries(changes)) {
    const path = join(folder, name);
    await mkdir(dirname(path), { recursive: true });
    await rm(path, { force: true });
    if (content === null) continue;
    if (typeof content === 'string' || content instanceof Uint8Array) await writeFile(path, content);
    else if ('link' in content) await symlink(content.link, path);
    else {
      await writeFile(path, content.script);
      await chmod(path, 0o755);
    }
  }
}

const PACKAGE = { name: 'app', version: '1.0.0', private: true };

export function packageJson(fields: object): string {
  return `${JSON.stringify({ ...PACKAGE, ...fields }, null, 2)}\n`;
}

/** Returns a web server with one dependency (`ms`) and its lock file, which needs the registry. */
export async function npmServer(): Promise<Files> {
  const files: Files = {
    'package.json': packageJson({ scripts: { start: 'node server.js' }, dependencies: { ms: '2.1.3' } }),
    'server.js': `const ms = require('ms');
require('node:http').createServer((q, r) => r.end(String(ms('2 days')))).listen(process.env.PORT);
`,
  };
  return { ...files, 'package-lock.json': await lockFile(files) };
}

async function lockFile(files: Files): Promise<string> {
  const folder = await mkdtemp(join(tmpdir(), 'ranvier-lock-'));
  try {
    await writeFiles(folder, files);
    const options = ['--package-lock-only', '--ignore-scripts', '--omit-lockfile-registry-resolved', '--no-audit'];
    await run('npm', ['install', ...options], { cwd: folder, timeout: 60_000 });
    return await readFile(join(folder, 'package-lock.json'), 'utf8');
  } finally {
    await rm(folder, { recursive: true, force: true });
  }
}

/** Returns a site whose build script writes `text` into `dist/index.html`. */
export function builtSite(text: string): Files {
  return {
    'package.json': packageJson({ scripts: { build: 'node build.js' } }),
    'build.js': `const fs = require('node:fs');
fs.mkdirSync('dist', { recursive: true });
fs.writeFileSync('dist/index.html', '<h1>' + ${JSON.stringify(text)} + '</h1>');
console.log('wrote dist/index.html');
`,
  };
}

type Handler = (req: IncomingMessage, res: ServerResponse, url: URL) => boolean;

export interface GitServer {
  origin: string;
  port: number;
  /** Method, path, authorization and host of each request. */
  requests: { method: string; path: string; authorization: string; host: string }[];
  close(): Promise<void>;
}

/** Serves the repositories below `root` over HTTP. `intercept` can answer a request first. */
export async function startGitServer(
  root: string,
  intercept: Handler = () => false,
  address = '127.0.0.1',
): Promise<GitServer> {
  const requests: GitServer['requests'] = [];
  const server = createServer((req, res) => {
    const url = new URL(req.url ?? '/', 'http://server');
    const { authorization = '', host = '' } = req.headers;
    requests.push({ method: req.method ?? '', path: url.pathname, authorization, host });
    if (!intercept(req, res, url)) serveGit(root, req, res, url);
  });
  server.listen(0, address);
  await once(server, 'listening');
  const { port } = server.address() as AddressInfo;
  return {
    origin: `http://${address}:${port}`,
    port,
    requests,
    async close() {
      server.closeAllConnections();
      await new Promise((resolve) => server.close(resolve));
    },
  };
}

function serveGit(root: string, req: IncomingMessage, res: ServerResponse, url: URL): void {
  const header = (name: string) => String(req.headers[name] ?? '');
  const backend = spawn('git', ['http-backend'], {
    env: {
      PATH: '/usr/local/bin:/usr/bin:/bin',
      GIT_CONFIG_COUNT: '1',
      GIT_CONFIG_KEY_0: 'safe.directory',
      GIT_CONFIG_VALUE_0: '*',
      GIT_PROJECT_ROOT: root,
      GIT_HTTP_EXPORT_ALL: '1',
      REQUEST_METHOD: req.method ?? 'GET',
      PATH_INFO: decodeURIComponent(url.pathname),
      QUERY_STRING: url.search.slice(1),
      CONTENT_TYPE: header('content-type'),
      HTTP_CONTENT_ENCODING: header('content-encoding'),
      ...(req.headers['content-length'] ? { CONTENT_LENGTH: header('content-length') } : {}),
      HTTP_GIT_PROTOCOL: header('git-protocol'),
      GIT_PROTOCOL: header('git-protocol'),
      REMOTE_ADDR: '127.0.0.1',
    },
    stdio: ['pipe', 'pipe', 'ignore'],
  });
  req.pipe(backend.stdin);
  // The backend ends when the client disconnects.
  backend.stdin.on('error', () => res.destroy());
  res.on('close', () => backend.kill());
  let head = Buffer.alloc(0);
  let body = false;
  backend.stdout.on('data', (chunk: Buffer) => {
    if (body) {
      res.write(chunk);
      return;
    }
    head = Buffer.concat([head, chunk]);
    const end = head.indexOf('\r\n\r\n');
    if (end < 0) return;
    body = true;
    let status = 200;
    for (const line of head.subarray(0, end).toString().split('\r\n')) {
      const colon = line.indexOf(':');
      const [name, value] = [line.slice(0, colon), line.slice(colon + 1).trim()];
      if (name === 'Status') status = Number.parseInt(value, 10);
      else res.setHeader(name, value);
    }
    res.writeHead(status);
    res.write(head.subarray(end + 4));
  });
  backend.stdout.on('end', () => res.end());
}
