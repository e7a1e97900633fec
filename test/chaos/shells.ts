import { setTimeout as delay } from 'node:timers/promises';
import { WebSocket } from 'ws';
import type { ApiClient } from '../support/client.js';
import type { Service } from '../support/deployments.js';
import { processesWith } from '../support/processes.js';
import { afterSweeps, type Entry } from './entries.js';
import type { FaultInjector } from './faults.js';

const SHELLS = 2;
const PAUSE_MS = 500;
const OPEN_MS = 8_000;
/** A shell prints three lines a second. After this silence, even on a busy machine, its worker has died. */
const SILENT_MS = 30_000;
/** How long a client waits for the end of a silent shell. */
const MAX_SILENT_MS = 45_000;
/** A shell loses its connection within this time after the API has died. */
const LOST_MS = 5_000;
const STOPPED_MS = 20_000;
/** Faults after which a shell may be silent, because its opening waits for a notification of PostgreSQL. */
const SILENCES = /stop a worker|replace postgresql/;
const MARK = `ranvier-chaos-shell-${process.pid}`;
const COMMAND = `env -i sh -c 'sleep 86400; true' ${MARK} & while sleep 0.3; do echo beats; done`;

interface End {
  at: number;
  code: number;
  reason: string;
  closed: boolean;
  silentMs: number;
}

/** Opens shells in a service that is deployed all the time, while workers and the API are killed. */
export class Shells {
  readonly #client: ApiClient;
  readonly #service: Service;
  readonly #ends: End[] = [];

  constructor(client: ApiClient, service: Service) {
    this.#client = client;
    this.#service = service;
  }

  async run(stop: AbortSignal): Promise<void> {
    const each = async () => {
      while (!stop.aborted) {
        const address = await this.#open().catch(() => null);
        if (address !== null) this.#ends.push(await useShell(address));
        await delay(PAUSE_MS);
      }
    };
    await Promise.all(Array.from({ length: SHELLS }, each));
  }

  async books(faults: FaultInjector): Promise<Entry[]> {
    const explains = (kind: RegExp, { at }: End, withinMs: number) => faults.struckBetween(kind, at - withinMs, at);
    const silent = this.#ends.filter(
      (end) => end.silentMs > SILENT_MS && !explains(SILENCES, end, STOPPED_MS + end.silentMs),
    );
    const mute = this.#ends.filter((end) => !end.closed && end.code === 1006 && !explains(/the api/, end, LOST_MS));
    const cut = this.#ends.filter(({ closed }) => !closed).length;
    const shown = (ends: readonly End[]) => ends.map((end) => JSON.stringify(end));
    return [
      { what: 'shells that were silent and did not end', counted: this.#ends.length, wrong: shown(silent) },
      { what: 'shells that ended without a reason', counted: cut, wrong: shown(mute) },
      await afterSweeps('processes of shells that have ended', async () => {
        const left = await processesWith(MARK);
        return { counted: this.#ends.length, wrong: left === '' ? [] : left.split('\n') };
      }),
    ];
  }

  async #open(): Promise<string> {
    const path = `/services/${this.#service.id}/shells`;
    const { shell } = await this.#client.expect<{ shell: { address: string } }>('POST', path, { command: COMMAND });
    return shell.address;
  }
}

function useShell(address: string): Promise<End> {
  return new Promise((resolve) => {
    const socket = new WebSocket(address);
    let [last, silentMs, closed] = [Date.now(), 0, false];
    const heard = () => {
      silentMs = Math.max(silentMs, Date.now() - last);
      last = Date.now();
    };
    const opened = Date.now();
    const watch = setInterval(() => {
      // A silent shell stays open, so that its silence can be measured.
      const isSilent = Date.now() - last > 2 * PAUSE_MS;
      closed = Date.now() - opened > OPEN_MS && (!isSilent || Date.now() - last > MAX_SILENT_MS);
      if (closed) socket.terminate();
    }, PAUSE_MS);
    socket.on('error', () => undefined);
    socket.on('message', heard);
    socket.on('close', (code, reason) => {
      clearInterval(watch);
      heard();
      resolve({ at: Date.now(), code, reason: reason.toString(), closed, silentMs });
    });
  });
}
