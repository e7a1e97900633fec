import { setTimeout as delay } from 'node:timers/promises';
import type { Behaviour, HostileTenant } from './hostile-tenant.js';

const RUN_MS = 8_000;
const VISITS = 10;
/** The range of ports that the platform of a run gives to applications. */
export const PORTS = { first: 26_000, last: 26_199 };

function answering(attack: string): string {
  return `
    let asked = 0;
    require('node:net').createServer((socket) => {
      socket.on('error', () => {}).once('data', () => {
        if (++asked < 4) return socket.end('HTTP/1.1 200 OK\\r\\nContent-Length: 2\\r\\nConnection: close\\r\\n\\r\\nok');
        ${attack}
      });
    }).listen(process.env.PORT);
  `;
}

function ordinaryWith(attack: string): string {
  return `
    require('node:http').createServer((request, response) => response.end('hostile')).listen(process.env.PORT);
    setTimeout(() => { ${attack} }, 1000);
  `;
}

const PROGRAMS: Record<string, string> = {
  'application: control character in its reason': answering(
    `socket.end('HTTP/1.1 200 O\\x01K\\r\\nContent-Length: 0\\r\\n\\r\\n');`,
  ),
  'application: byte above 7F in its reason': answering(
    `socket.end(Buffer.from('HTTP/1.1 200 O\\xffK\\r\\nContent-Length: 0\\r\\n\\r\\n', 'latin1'));`,
  ),
  'application: status 099': answering(`socket.end('HTTP/1.1 099 No\\r\\nContent-Length: 0\\r\\n\\r\\n');`),
  'application: status 000': answering(`socket.end('HTTP/1.1 000 No\\r\\nContent-Length: 0\\r\\n\\r\\n');`),
  'application: headers without end': answering(
    `socket.write('HTTP/1.1 200 OK\\r\\n'); const go = () => socket.write('x: ' + 'y'.repeat(60000) + '\\r\\n', go); go();`,
  ),
  'application: body without end': answering(
    `socket.write('HTTP/1.1 200 OK\\r\\n\\r\\n'); const go = () => socket.destroyed || socket.write(Buffer.alloc(1 << 20), go); go();`,
  ),
  'application: shorter than it said': answering(
    `socket.end('HTTP/1.1 200 OK\\r\\nContent-Length: 1000\\r\\n\\r\\nx');`,
  ),
  'application: silent': answering(''),
  'application: grabs ports': ordinaryWith(`
    for (const host of ['127.0.0.1', '0.0.0.0', '::1', '127.0.0.2'])
      for (let port = ${PORTS.first}; port <= ${PORTS.last}; port++) require('node:net').createServer().on('error', () => {}).listen(port, host);`),
  'application: idle connections to its neighbours': ordinaryWith(`
    for (let i = 0; i < 10; i++) for (let port = ${PORTS.first}; port <= ${PORTS.last}; port++)
      require('node:net').connect(port, '127.0.0.1').on('error', () => {});`),
  'application: empty lines': ordinaryWith(`require('node:child_process').spawn('yes', [''], { stdio: 'inherit' });`),
  'application: a line without end': ordinaryWith(
    `const go = () => process.stdout.write('x'.repeat(1 << 20), go); go();`,
  ),
  'application: memory hog': ordinaryWith(`const all = []; for (;;) all.push(Buffer.alloc(16 << 20, 1));`),
  'application: fork bomb': ordinaryWith(`require('node:child_process').exec('f() { while :; do f & done; }; f');`),
  'application: deep folders': ordinaryWith(
    `const n = 'd'.repeat(200); for (let i = 0; i < 40; i++) { fs.mkdirSync(n); process.chdir(n); }`,
  ),
};

async function visitFor(
  tenant: HostileTenant,
  service: Parameters<HostileTenant['visit']>[0],
  signal: AbortSignal,
): Promise<void> {
  const end = Date.now() + RUN_MS;
  while (Date.now() < end && !signal.aborted) {
    await Promise.all(Array.from({ length: VISITS }, () => tenant.visit(service)));
    await delay(200);
  }
}

export const APPLICATIONS: readonly Behaviour[] = Object.entries(PROGRAMS).map(([name, program]) => ({
  name,
  act: (tenant, signal) =>
    tenant.host(
      {
        'server.js': `const fs = require('node:fs');${program}`,
        'package.json': '{"name":"hostile","version":"1.0.0","private":true}',
        Procfile: 'web: node server.js\n',
      },
      {},
      signal,
      (service) => visitFor(tenant, service, signal),
    ),
}));
