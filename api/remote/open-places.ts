import { MAX_CONNECTIONS, MAX_TUNNEL_CONNECTIONS } from '../../shared/remote/model.js';
import type { RemoteSessionRow } from '../../shared/remote/store.js';

type Session = Pick<RemoteSessionRow, 'id' | 'service_id' | 'workspace_id'>;

/** Limits the connections of this API process per tunnel, service and workspace. */
export class OpenPlaces {
  readonly #taken = new Map<string, number>();

  /** Takes a place for a connection. Returns the function that releases it; null if a limit is reached. */
  take({ id, service_id, workspace_id }: Session): (() => void) | null {
    const bounds: readonly (readonly [string, number])[] = [
      [id, MAX_TUNNEL_CONNECTIONS],
      [service_id, MAX_CONNECTIONS.service],
      [workspace_id, MAX_CONNECTIONS.workspace],
    ];
    if (bounds.some(([owner, most]) => this.#of(owner) >= most)) return null;
    for (const [owner] of bounds) this.#taken.set(owner, this.#of(owner) + 1);
    return () => {
      for (const [owner] of bounds) {
        const left = this.#of(owner) - 1;
        if (left > 0) this.#taken.set(owner, left);
        else this.#taken.delete(owner);
      }
    };
  }

  #of(owner: string): number {
    return this.#taken.get(owner) ?? 0;
  }
}
