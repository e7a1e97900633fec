import type { IncomingMessage, ServerResponse } from 'node:http';
import { Transform } from 'node:stream';
import { AppError } from '../../shared/core/error-registry.js';
import { MAX_UPDATES } from '../../shared/pushes/model.js';

export interface BodyLimits {
  maxBytes: number;
  /** Maximum bytes before the pack. git keeps these bytes in memory. Null for a fetch, which sends no pack. */
  maxCommandBytes: number | null;
}

const MIB = 1024 ** 2;
/** A ref update (two commit ids and a ref) needs less than 4 KiB. */
const MAX_COMMAND_BYTES = MAX_UPDATES * 4 * 1024;

/** Returns the limits of a push. They exceed `maxPackBytes`, because git itself rejects a larger pack. */
export function pushLimits(maxPackBytes: number): BodyLimits {
  return { maxBytes: maxPackBytes + MAX_COMMAND_BYTES + MIB, maxCommandBytes: MAX_COMMAND_BYTES };
}

/** A fetch sends only ids of commits that the client wants and has. */
export const FETCH_LIMITS: BodyLimits = { maxBytes: 16 * MIB, maxCommandBytes: null };

/** Passes a body on and counts its bytes. If it exceeds a limit, calls `refuse` once and discards the rest. */
export function boundedBody({ maxBytes, maxCommandBytes }: BodyLimits, refuse: (error: AppError) => void): Transform {
  const commands = maxCommandBytes === null ? null : new CommandCounter();
  let bytes = 0;
  let refused = false;
  return new Transform({
    transform(chunk: Buffer, _encoding, done) {
      bytes += chunk.length;
      commands?.push(chunk);
      if (!refused && (bytes > maxBytes || (commands?.bytes ?? 0) > (maxCommandBytes ?? 0))) {
        refused = true;
        refuse(new AppError('payload_too_large', 'The request of git is larger than this installation takes'));
      }
      if (refused) done();
      else done(null, chunk);
    },
  });
}

const HEAD_BYTES = 4;
const PACK = 'PACK';

/** Counts the bytes that a push sends before its pack. They are packets that begin with their length. */
export class CommandCounter {
  bytes = 0;
  #head = '';
  /** Bytes of the current packet that have not arrived yet. */
  #left = 0;
  #ended = false;

  push(chunk: Buffer): void {
    for (let at = 0; at < chunk.length && !this.#ended; ) {
      if (this.#left > 0) {
        const taken = Math.min(this.#left, chunk.length - at);
        this.#left -= taken;
        this.bytes += taken;
        at += taken;
        continue;
      }
      this.#head += String.fromCharCode(chunk[at] ?? 0);
      at += 1;
      this.bytes += 1;
      if (this.#head.length < HEAD_BYTES) continue;
      this.#ended = this.#head === PACK;
      // git rejects a packet that does not begin with its length. Its end is unknown, so all further bytes are counted.
      const length = /^[0-9a-f]{4}$/i.test(this.#head) ? Number.parseInt(this.#head, 16) : Number.POSITIVE_INFINITY;
      this.#left = Math.max(0, length - HEAD_BYTES);
      this.#head = '';
    }
  }
}

/** How long a request may wait for its client. Each MIN_BYTES_PER_SECOND bytes transferred add a second. */
const PATIENCE_MS = 30_000;
const MIN_BYTES_PER_SECOND = 32 * 1024;
const POLL_INTERVAL_MS = 500;

/** Returns true if `waitedMs` is too long for a client that has transferred `bytes`. */
export function isTooSlow(waitedMs: number, bytes: number, patienceMs = PATIENCE_MS): boolean {
  return waitedMs > patienceMs + (bytes / MIN_BYTES_PER_SECOND) * 1000;
}

/** Calls `end` once if the client is too slow. Returns a function that stops the check. */
export function watchPace(
  { req, res, body }: { req: IncomingMessage; res: ServerResponse; body: Transform },
  end: () => void,
  patienceMs?: number,
): () => void {
  let waited = 0;
  let last = performance.now();
  const { bytesRead, bytesWritten } = req.socket;
  const timer = setInterval(() => {
    const now = performance.now();
    const sends = !req.readableEnded && !body.writableNeedDrain;
    if (sends || res.writableNeedDrain) waited += now - last;
    last = now;
    const bytes = req.socket.bytesRead - bytesRead + req.socket.bytesWritten - bytesWritten;
    if (!isTooSlow(waited, bytes, patienceMs)) return;
    clearInterval(timer);
    end();
  }, POLL_INTERVAL_MS);
  return () => clearInterval(timer);
}
