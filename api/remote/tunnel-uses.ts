import type { RemoteSessionRow } from '../../shared/remote/store.js';

/** A use of a tunnel ends, and is recorded in the audit log, after this many milliseconds without a connection. */
const REST_MS = 3_000;

interface Use {
  session: RemoteSessionRow;
  beganAt: number;
  open: number;
  connections: number;
  bytesToService: number;
  bytesToClient: number;
  /** How the last closed connection of this use ended. */
  reason: string;
  rest: NodeJS.Timeout | null;
}

export type UseFacts = Pick<Use, 'connections' | 'bytesToService' | 'bytesToClient' | 'reason'> & { seconds: number };

/** Groups connections of a tunnel into uses, for the audit log. A use ends shortly after its last connection. */
export class TunnelUses {
  readonly #uses = new Map<string, Use>();
  readonly #ended: (session: RemoteSessionRow, facts: UseFacts) => void;

  constructor(ended: (session: RemoteSessionRow, facts: UseFacts) => void) {
    this.#ended = ended;
  }

  begin(session: RemoteSessionRow): void {
    const use = this.#uses.get(session.id) ?? {
      session,
      beganAt: Date.now(),
      open: 0,
      connections: 0,
      bytesToService: 0,
      bytesToClient: 0,
      reason: '',
      rest: null,
    };
    this.#uses.set(session.id, use);
    if (use.rest !== null) clearTimeout(use.rest);
    use.rest = null;
    use.open += 1;
    use.connections += 1;
  }

  count(id: string, direction: 'bytesToService' | 'bytesToClient', bytes: number): void {
    const use = this.#uses.get(id);
    if (use) use[direction] += bytes;
  }

  end({ id }: RemoteSessionRow, reason: string): void {
    const use = this.#uses.get(id);
    if (!use) return;
    use.open -= 1;
    use.reason = reason;
    if (use.open === 0) use.rest = setTimeout(() => this.#finish(use), REST_MS);
  }

  /** Ends the uses of tunnels that have no open connection, without waiting for REST_MS. */
  close(): void {
    for (const use of [...this.#uses.values()]) if (use.open === 0) this.#finish(use);
  }

  #finish(use: Use): void {
    if (use.rest !== null) clearTimeout(use.rest);
    this.#uses.delete(use.session.id);
    const { connections, bytesToService, bytesToClient, reason } = use;
    const seconds = Math.round((Date.now() - use.beganAt) / 1000);
    this.#ended(use.session, { connections, bytesToService, bytesToClient, seconds, reason });
  }
}
