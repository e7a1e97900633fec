import { execFile } from 'node:child_process';
import { mkdir, mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { promisify } from 'node:util';
import { giveTo, PLATFORM_USER } from './platform-user.js';

const run = promisify(execFile);

export type Files = Record<string, string>;

/** A real git repository that a test commits to and deploys from. */
export class AppRepository {
  readonly directory: string;
  /** Owns its files; null if that is the user of the tests. */
  readonly #owner: number | null;

  constructor(directory: string, owner: number | null = PLATFORM_USER) {
    this.directory = directory;
    this.#owner = owner;
  }

  get url(): string {
    return `file://${this.directory}`;
  }

  /** Writes files (null removes one) and commits; returns the commit. */
  async commit(message: string, files: Record<string, string | null>): Promise<string> {
    await this.write(files);
    await this.git('add', '-A');
    await this.git('commit', '-q', '--allow-empty', '-m', message);
    await giveTo(this.#owner, this.directory);
    return (await this.git('rev-parse', 'HEAD')).trim();
  }

  /** Writes files (null removes one) without a commit. */
  async write(files: Record<string, string | null>): Promise<void> {
    for (const [name, content] of Object.entries(files)) {
      const path = join(this.directory, name);
      if (content === null) {
        await rm(path);
        continue;
      }
      await mkdir(dirname(path), { recursive: true });
      await writeFile(path, content);
    }
  }

  async git(...args: string[]): Promise<string> {
    const identity = ['-c', 'user.name=Test', '-c', 'user.email=test@example.test', '-c', 'safe.directory=*'];
    const { stdout } = await run('git', ['-C', this.directory, ...identity, ...args]);
    return stdout;
  }

  async remove(): Promise<void> {
    await rm(this.directory, { recursive: true, force: true });
  }
}

/** Makes a repository with one commit on `main`. */
export async function makeRepository(
  files: Files,
  message = 'First commit',
  owner = PLATFORM_USER,
): Promise<AppRepository> {
  const repository = new AppRepository(await mkdtemp(join(tmpdir(), 'ranvier-repository-')), owner);
  await repository.git('init', '-q', '-b', 'main');
  await repository.commit(message, files);
  return repository;
}

/**
 * An HTTP server; `word` is what it answers, `/slow` takes a second, `/env` shows its environment. Without a package.json nothing is
 * installed and no npm stands before it, which takes a second of processor time from each deployment.
 */
export function nodeServer(word: string): Files {
  return {
    Procfile: 'web: exec node server.js\n',
    'server.js': `
      const http = require('node:http');
      const server = http.createServer((request, response) => {
        if (request.url === '/env') return response.end(JSON.stringify(process.env));
        if (request.url === '/pid') return response.end(String(process.pid));
        if (request.url === '/crash') { response.end('bye'); return setTimeout(() => process.exit(7), 50); }
        if (request.url === '/slow') return setTimeout(() => response.end(${JSON.stringify(word)}), 1000);
        response.end(${JSON.stringify(word)});
      });
      server.listen(process.env.PORT, () => console.log('listening on ' + process.env.PORT));
      process.on('SIGTERM', () => { console.log('draining'); server.close(() => process.exit(0)); server.closeIdleConnections(); });
    `,
  };
}

/** An npm application with a real dependency from the registry and a lock file. */
export function npmApp(word: string): Files {
  return {
    'package.json': JSON.stringify({
      name: 'app',
      version: '1.0.0',
      private: true,
      scripts: { start: 'node server.js' },
      dependencies: { ms: '2.1.3' },
    }),
    'package-lock.json': JSON.stringify({
      name: 'app',
      version: '1.0.0',
      lockfileVersion: 3,
      requires: true,
      packages: {
        '': { name: 'app', version: '1.0.0', dependencies: { ms: '2.1.3' } },
        'node_modules/ms': {
          version: '2.1.3',
          integrity: 'sha512-6FlzubTLZG3J2a/NVCAleEhjzq5oxgHyaCU9yYXvcLsvoVaHJq/s5xXI6/XXP6tz7R9xAOtHnSO/tXtF3WRTlA==',
        },
      },
    }),
    'server.js': `
      const ms = require('ms');
      require('node:http').createServer((request, response) => response.end(${JSON.stringify(word)} + ' ' + ms('2 days')))
        .listen(process.env.PORT, () => console.log('listening'));
    `,
  };
}

/** A static site made by a build script. */
export function staticSite(word: string): Files {
  return {
    'package.json': JSON.stringify({
      name: 'site',
      version: '1.0.0',
      private: true,
      scripts: { build: 'node build.js' },
    }),
    'build.js': `
      const fs = require('node:fs');
      fs.mkdirSync('dist/about', { recursive: true });
      fs.writeFileSync('dist/index.html', '<!doctype html><title>site</title><h1>${word}</h1>');
      fs.writeFileSync('dist/about/index.html', '<h1>about</h1>');
      fs.writeFileSync('dist/style.css', 'h1 { color: teal }');
      console.log('built the site');
    `,
  };
}

/** A server of Python's standard library. */
export function pythonServer(word: string): Files {
  return {
    'server.py': `
import os
from http.server import BaseHTTPRequestHandler, HTTPServer

class Handler(BaseHTTPRequestHandler):
    def do_GET(self):
        body = ${JSON.stringify(word)}.encode()
        self.send_response(200)
        self.send_header('Content-Length', str(len(body)))
        self.end_headers()
        self.wfile.write(body)

print('listening', flush=True)
HTTPServer(('0.0.0.0', int(os.environ['PORT'])), Handler).serve_forever()
`,
    Procfile: 'web: python3 server.py\n',
  };
}
