import type { WebSocket } from 'ws';
import { Outlet } from '../../shared/remote/outlet.js';

export interface RelayHooks {
  /** Called with each message from the worker, before it is passed on. */
  onAnswer(data: Buffer, isBinary: boolean): void;
  /** Called with each message from the client, before it is passed on. */
  onRequest(data: Buffer, isBinary: boolean): void;
  /** True if the binary messages form one byte stream, as in a tunnel. Queued messages may then be merged. */
  merges: boolean;
  /** Called once, when either side closes. `worker` is null if the client disconnected first. */
  onEnd(worker: { code: number; reason: string } | null): void;
}

/** Relays messages in both directions. While a receiver reads too slowly, its sender is paused. */
export function relay(client: WebSocket, worker: WebSocket, hooks: RelayHooks): void {
  let ended = false;
  const end = (worker: { code: number; reason: string } | null) => {
    if (!ended) hooks.onEnd(worker);
    ended = true;
  };
  pump(client, worker, hooks.merges, (data, isBinary) => hooks.onRequest(data, isBinary));
  const toClient = pump(worker, client, hooks.merges, (data, isBinary) => hooks.onAnswer(data, isBinary));
  client.once('close', () => {
    worker.terminate();
    end(null);
  });
  worker.once('close', (code: number, reason: Buffer) => {
    end({ code, reason: reason.toString('utf8') });
    if (client.readyState === client.OPEN) toClient.flush();
    if (isSendable(code)) client.close(code, reason);
    else client.close(1011, 'the worker went away');
  });
  worker.resume();
  client.resume();
}

/** Close codes such as 1006 (lost connection) can be reported but not sent. */
function isSendable(code: number): boolean {
  return code >= 1000 && ![1004, 1005, 1006, 1015].includes(code);
}

function pump(
  from: WebSocket,
  to: WebSocket,
  merges: boolean,
  seen: (data: Buffer, isBinary: boolean) => void,
): Outlet {
  const outlet = new Outlet(to, () => from, { merges });
  from.on('message', (data: Buffer, isBinary: boolean) => {
    // The limit on queued data counts bytes, so any number of empty messages could be queued.
    if (isBinary && data.length === 0) return;
    seen(data, isBinary);
    if (to.readyState === to.OPEN) outlet.send(data, isBinary);
  });
  return outlet;
}
