import type { WebSocket } from 'ws';
import { Outlet } from '../../shared/remote/outlet.js';

export interface RelayHooks {
  /** Called with each message from the worker, before it is passed on. */
  onAnswer(data: Buffer, isBinary: boolean): void;
  /** Called with each message of the client. */
  onRequest(data: Buffer): void;
  onEnd(): void;
}

/** Passes messages on in both directions, and the end of one side to the other. A side that takes no messages makes the other one wait. */
export function relay(client: WebSocket, worker: WebSocket, hooks: RelayHooks): void {
  let ended = false;
  const end = () => {
    if (!ended) hooks.onEnd();
    ended = true;
  };
  pump(client, worker, (data) => hooks.onRequest(data));
  pump(worker, client, (data, isBinary) => hooks.onAnswer(data, isBinary));
  client.once('close', () => {
    worker.terminate();
    end();
  });
  worker.once('close', (code: number, reason: Buffer) => {
    end();
    if (isSendable(code)) client.close(code, reason);
    else client.close(1011, 'the worker went away');
  });
  worker.resume();
  client.resume();
}

/** Codes below 1000 and some others stand for an end without a message, and cannot be sent. */
function isSendable(code: number): boolean {
  return code >= 1000 && ![1004, 1005, 1006, 1015].includes(code);
}

function pump(from: WebSocket, to: WebSocket, seen: (data: Buffer, isBinary: boolean) => void): void {
  const outlet = new Outlet(to, () => from);
  from.on('message', (data: Buffer, isBinary: boolean) => {
    seen(data, isBinary);
    if (to.readyState === to.OPEN) outlet.send(data, isBinary);
  });
}
