import { once } from 'node:events';
import { WebSocket } from 'ws';
import type { ApiClient } from './client.js';

export interface ShellEnd {
  exit: number | null;
  code: number;
}

/** The client's end of a shell. It keeps the output. */
export class TestShell {
  readonly socket: WebSocket;
  readonly ended: Promise<ShellEnd>;
  output = '';
  error = '';
  bytes = 0;

  constructor(address: string, { terminal, keeps = true }: { terminal: boolean; keeps?: boolean }) {
    this.socket = new WebSocket(address);
    let exit: number | null = null;
    this.socket.on('message', (data: Buffer, isBinary: boolean) => {
      if (!isBinary) exit = (JSON.parse(data.toString()) as { exit: number }).exit;
      else {
        this.bytes += data.length;
        if (!keeps) return;
        if (terminal) this.output += data.toString();
        else if (data[0] === 1) this.output += data.subarray(1).toString();
        else if (data[0] === 2) this.error += data.subarray(1).toString();
        else this.error += `a message begins with ${data[0]}`;
      }
    });
    this.socket.on('error', () => undefined);
    this.ended = new Promise((resolve) => this.socket.on('close', (code) => resolve({ exit, code })));
  }

  async opened(): Promise<this> {
    if (this.socket.readyState === WebSocket.CONNECTING) await once(this.socket, 'open');
    return this;
  }

  write(text: string | Buffer): void {
    this.socket.send(Buffer.from(text));
  }

  control(message: object): void {
    this.socket.send(JSON.stringify(message));
  }
}

export interface ShellBody {
  command?: string | string[];
  columns?: number;
  rows?: number;
  replica?: string;
}

export async function openShell(client: ApiClient, serviceId: string, body: ShellBody = {}): Promise<TestShell> {
  const { shell } = await client.expect<{ shell: { id: string; address: string } }>(
    'POST',
    `/services/${serviceId}/shells`,
    body,
  );
  return new TestShell(shell.address, { terminal: body.columns !== undefined }).opened();
}
