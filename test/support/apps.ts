export type TextFiles = Record<string, string>;

/**
 * Returns an HTTP server that answers with `word`, and with its environment on `/env`. Without a package.json no npm
 * runs, which saves a second of processor time for each deployment.
 */
export function nodeServer(word: string): TextFiles {
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

/** A server that sends without an end to each connection that does not speak HTTP. */
export const FLOOD: TextFiles = {
  Procfile: 'web: exec node server.js\n',
  'server.js': `const chunk = Buffer.alloc(65536);
    require('node:net').createServer((socket) => {
      socket.on('error', () => {});
      const send = () => { while (!socket.destroyed && socket.write(chunk)); };
      socket.on('drain', send);
      socket.once('data', (data) => {
        if (/^(GET|HEAD)/.test(data.toString('latin1'))) socket.end('HTTP/1.1 200 OK\\r\\nContent-Length: 0\\r\\n\\r\\n');
        else send();
      });
    }).listen(process.env.PORT);`,
};

/** Returns an npm application with a lock file and a dependency from the registry. */
export function npmApp(word: string): TextFiles {
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

/** Returns a static site that a build script makes. */
export function staticSite(word: string): TextFiles {
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

/** Returns a Python web server without dependencies or a Procfile, which answers with `word`. */
export function pythonServer(word: string): TextFiles {
  return {
    'main.py': `import os
from http.server import BaseHTTPRequestHandler, HTTPServer

class Handler(BaseHTTPRequestHandler):
    def do_GET(self):
        self.send_response(200)
        self.end_headers()
        self.wfile.write(${JSON.stringify(word)}.encode())

HTTPServer(("", int(os.environ["PORT"])), Handler).serve_forever()
`,
  };
}
