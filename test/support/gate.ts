import { createServer, type Server, type ServerResponse } from 'node:http';
import { listen } from './http.js';

/** An HTTP server at which builds and applications wait until the test opens it. */
export class Gate {
  readonly visits = new Map<string, number>();
  readonly #waiting: ServerResponse[] = [];
  readonly #server: Server = createServer((request, response) => {
    const name = (request.url ?? '').slice(1);
    this.visits.set(name, (this.visits.get(name) ?? 0) + 1);
    if (this.#open) response.end();
    else this.#waiting.push(response);
  });
  #open = false;

  async start(): Promise<string> {
    return `http://127.0.0.1:${await listen(this.#server)}`;
  }

  open(): void {
    this.#open = true;
    for (const response of this.#waiting.splice(0)) response.end();
  }

  shut(): void {
    this.#open = false;
  }

  close(): void {
    this.open();
    this.#server.closeAllConnections();
    this.#server.close();
  }
}

/** Files for a repository: `node pass.js <name>` waits at the gate. */
export const PASS = {
  'pass.js': `fetch(process.env.GATE + '/' + process.argv[2]).then((r) => r.text()).then(() => console.log('passed ' + process.argv[2]));`,
};

/** Returns settings with which builds reach the gate on loopback. Applications get its URL in GATE. */
export function reachOf(gate: string): Record<string, string> {
  return { GATE: gate, BUILD_ENV: 'GATE', EGRESS_ALLOW: '127.0.0.1' };
}
