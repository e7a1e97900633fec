import { nodeServer } from './apps.js';
import type { Files } from './repositories.js';

/** Source for programs in a sandbox: `tryOut(host, port)` resolves to `connected`, `timeout` or an error code. */
export const TRY = `
  const tryOut = (host, port) => new Promise((resolve) => {
    const socket = require('node:net').connect({ host, port });
    socket.setTimeout(3000, () => { socket.destroy(); resolve('timeout'); });
    socket.once('connect', () => { socket.destroy(); resolve('connected'); });
    socket.once('error', (error) => resolve(error.code));
  });
`;

const PUPPET = `
  ${TRY}
  const Run = (async () => {}).constructor;
  const server = require('node:http').createServer(async (request, response) => {
    const url = new URL(request.url, 'http://x');
    if (url.pathname === '/stream') {
      response.write('one ');
      return setTimeout(() => response.end('two'), 200);
    }
    if (url.pathname !== '/run') return response.end('puppet');
    const work = new Run('tryOut', 'require', decodeURIComponent(url.search.slice(1)));
    response.end(JSON.stringify(await work(tryOut, require).catch((error) => String(error))));
  });
  server.on('upgrade', (request, socket) => {
    socket.write('HTTP/1.1 101 Switching Protocols\\r\\nConnection: Upgrade\\r\\nUpgrade: echo\\r\\n\\r\\n');
    socket.pipe(socket);
  });
`;

/** Returns an application that runs JavaScript from /run, streams on /stream, and echoes after an upgrade. */
export function puppet(listen = 'server.listen(process.env.PORT)'): Files {
  return { ...nodeServer('puppet'), 'server.js': `${PUPPET}\n${listen}` };
}

/** Name in failure messages → address. */
export type Places = Record<string, [host: string, port: number]>;

/** Returns the source of a program that tries to connect to all addresses at once, and returns the outcomes. */
export function outcomesAt(places: Places): string {
  const each = `${JSON.stringify(Object.entries(places))}.map(async ([what, [host, port]]) => [what, await tryOut(host, port)])`;
  return `Promise.all(${each})`;
}
