import { createRequire } from 'node:module';
import type { WebSocket } from 'ws';
import { CHANNELS } from '../../shared/core/database/listener.js';
import { errorMessage } from '../../shared/core/error-registry.js';
import { lazily } from '../../shared/core/lazily.js';
import {
  CLOSE,
  MAX_MESSAGE_BYTES,
  parseSummons,
  REPLICA_ENDED,
  type Summons,
  WORKER_PATH,
} from '../../shared/remote/model.js';
import { findRemoteSession } from '../../shared/remote/store.js';
import type { RemoteDeps } from './remote-deps.js';
import { serveShell } from './serve-shell.js';
import { serveTunnel } from './serve-tunnel.js';
import { targetOf } from './target.js';

const ws = lazily(() => createRequire(import.meta.url)('ws') as { WebSocket: typeof WebSocket });

const HANDSHAKE_MS = 5_000;
/** How long to wait for a slow client to receive the last bytes. */
const CLOSE_MS = 120_000;

/** Connects to an API process for each shell or tunnel, so that a worker has no port that tenants can reach. */
export class RemoteEnds {
  readonly #deps: RemoteDeps;
  readonly #open = new Map<WebSocket, Promise<void>>();
  #forget: (() => void) | null = null;

  constructor(deps: RemoteDeps) {
    this.#deps = deps;
  }

  start(): void {
    this.#forget = this.#deps.listener.on(CHANNELS.remote, (payload) => {
      const summons = payload === null ? null : parseSummons(payload);
      if (summons !== null && summons.hostId === this.#deps.hostId) this.#answer(summons);
    });
  }

  async close(): Promise<void> {
    this.#forget?.();
    for (const peer of this.#open.keys()) peer.terminate();
    await Promise.all(this.#open.values());
  }

  #answer({ sessionId, connectionId, address, token }: Summons): void {
    const url = new URL(`${WORKER_PATH}${connectionId}`, address);
    url.protocol = url.protocol === 'https:' ? 'wss:' : 'ws:';
    const options = {
      headers: { Authorization: `Bearer ${token}` },
      handshakeTimeout: HANDSHAKE_MS,
      closeTimeout: CLOSE_MS,
      maxPayload: MAX_MESSAGE_BYTES,
      perMessageDeflate: false,
      // Masks protect proxies from scripts in web pages. No script can use this connection, so zeros suffice.
      generateMask: (mask: Buffer) => void mask.fill(0),
    };
    const peer = new (ws().WebSocket)(url, options);
    // An error is expected if another worker on the host has connected first.
    peer.on('error', (error) => this.#deps.log.debug({ err: error, sessionId }, 'a connection to the API failed'));
    peer.once('open', () => {
      peer.pause();
      const served = this.#serve(sessionId, peer)
        .catch((error: unknown) => {
          this.#deps.log.warn({ err: error, sessionId }, `a session could not be served: ${errorMessage(error)}`);
          peer.resume();
          peer.close(CLOSE.fault, 'the program could not be started');
        })
        .finally(() => this.#open.delete(peer));
      this.#open.set(peer, served);
    });
  }

  async #serve(sessionId: string, peer: WebSocket): Promise<void> {
    const session = await findRemoteSession(this.#deps.db, sessionId);
    const target = session === null ? null : await targetOf(this.#deps, session);
    if (session === null || target === null) {
      peer.resume();
      return peer.close(CLOSE.notFound, REPLICA_ENDED);
    }
    const serve = session.kind === 'shell' ? serveShell : serveTunnel;
    await serve(this.#deps, session, target, peer);
  }
}
