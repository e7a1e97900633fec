import { once } from 'node:events';
import { createServer, type Server, type ServerResponse } from 'node:http';

/** Commands and applications under test wait here until the gate is opened, so that a test acts while they are under way. */
export class Gate {
  /** How often each name was here. */
  readonly visits = new Map<string, number>();
  readonly #waiting: ServerResponse[] = [];
  readonly #server: Server = createServer((request, response) => {
    const name = (request.url ?? '').slice(1);
    this.visits.set(name, (this.visits.get(name) ?? 0) + 1);
    if (this.#open) response.end();
    else this.#waiting.push(response);
  });
  #open = false;

  /** Returns the gate's address. */
  async start(): Promise<string> {
    this.#server.listen(0, '127.0.0.1');
    await once(this.#server, 'listening');
    return `http://127.0.0.1:${(this.#server.address() as { port: number }).port}`;
  }

  /** Lets all pass who wait, and all who come later. */
  open(): void {
    this.#open = true;
    for (const response of this.#waiting.splice(0)) response.end();
  }

  /** Lets nobody pass any more. */
  shut(): void {
    this.#open = false;
  }

  close(): void {
    this.open();
    this.#server.closeAllConnections();
    this.#server.close();
  }
}

/** For a repository: `node pass.js <name>` waits at the gate. */
export const PASS = {
  'pass.js': `fetch(process.env.GATE + '/' + process.argv[2]).then((r) => r.text()).then(() => console.log('passed ' + process.argv[2]));`,
};

/** The platform's settings with which builds reach the gate, which is on loopback; applications get its address as a variable. */
export function reachOf(gate: string): Record<string, string> {
  return { GATE: gate, BUILD_ENV: 'GATE', EGRESS_ALLOW: '127.0.0.1' };
}
