import { connect } from 'node:net';

export interface Load {
  port: number;
  request: () => string;
  connections: number;
  seconds: number;
}

export interface Served {
  perSecond: number;
  /** Milliseconds, as `p99`. */
  p50: number;
  p99: number;
}

const END_OF_HEAD = Buffer.from('\r\n\r\n');

/** Sends requests on bare sockets, which take little processor time. Throws unless each answer has the status 200. */
export async function load({ port, request, connections, seconds }: Load): Promise<Served> {
  const end = performance.now() + seconds * 1000;
  const times: number[] = [];
  await Promise.all(Array.from({ length: connections }, () => caller(port, request, end, times)));
  times.sort((a, b) => a - b);
  const at = (share: number) => times[Math.floor(times.length * share)] ?? 0;
  return { perSecond: times.length / seconds, p50: at(0.5), p99: at(0.99) };
}

function caller(port: number, request: () => string, end: number, times: number[]): Promise<void> {
  return new Promise((resolve, reject) => {
    const socket = connect({ port, host: '127.0.0.1', noDelay: true });
    let begun = 0;
    let received: Buffer = Buffer.alloc(0);
    const send = () => {
      begun = performance.now();
      socket.write(request());
    };
    socket.on('connect', send);
    socket.on('error', reject);
    socket.on('close', () => reject(new Error('the server closed a connection')));
    socket.on('data', (data) => {
      received = received.length === 0 ? data : Buffer.concat([received, data]);
      const head = received.indexOf(END_OF_HEAD);
      if (head < 0) return;
      const text = received.toString('latin1', 0, head);
      const length = Number(/content-length: (\d+)/i.exec(text)?.[1] ?? Number.NaN);
      if (!text.startsWith('HTTP/1.1 200') || Number.isNaN(length)) {
        socket.destroy();
        return reject(new Error(`unexpected answer: ${received.toString('latin1').slice(0, 600)}`));
      }
      if (received.length < head + 4 + length) return;
      received = Buffer.alloc(0);
      const now = performance.now();
      times.push(now - begun);
      if (now < end) return send();
      socket.removeAllListeners('close');
      socket.end();
      resolve();
    });
  });
}

/** Formats an HTTP request. */
export function requestText(method: string, path: string, headers: Record<string, string> = {}, body?: string): string {
  const all = {
    Host: 'localhost',
    ...headers,
    ...(body === undefined
      ? {}
      : { 'Content-Type': 'application/json', 'Content-Length': String(Buffer.byteLength(body)) }),
  };
  const lines = Object.entries(all).map(([name, value]) => `${name}: ${value}\r\n`);
  return `${method} ${path} HTTP/1.1\r\n${lines.join('')}\r\n${body ?? ''}`;
}
