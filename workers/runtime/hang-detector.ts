import { connect } from 'node:net';

/** Times in milliseconds. */
export interface HangTimes {
  interval: number;
  /** Timeout for the first byte of a response. */
  patience: number;
}

const TIMES: HangTimes = { interval: 30_000, patience: 10_000 };
/** One missing response is no proof: it may be due to a slow start or a busy host. */
const SILENCES = 2;

export interface HangTarget {
  address: string;
  port: number;
  host: string;
}

/**
 * Detects an application that hangs, although the kernel still accepts connections to its port. Any response counts,
 * even an error or a closed connection.
 */
export class HangDetector {
  readonly #times: HangTimes;
  #silences = 0;
  #asking = false;
  #nextAt: number;

  constructor(times: HangTimes = TIMES) {
    this.#times = times;
    this.#nextAt = Date.now() + times.interval;
  }

  /** Returns the reason if the last requests got no response, otherwise ''. */
  observe(target: HangTarget): string {
    if (!this.#asking && Date.now() >= this.#nextAt) this.#ask(target);
    const seconds = this.#times.patience / 1000;
    return this.#silences >= SILENCES
      ? `the port accepts connections, but a request got no answer within ${seconds} s`
      : '';
  }

  #ask(target: HangTarget): void {
    this.#asking = true;
    void isSilent(target, this.#times.patience).then((silent) => {
      this.#asking = false;
      this.#silences = silent ? this.#silences + 1 : 0;
      this.#nextAt = silent ? 0 : Date.now() + this.#times.interval;
    });
  }
}

/** Returns true if the port accepts a connection but sends nothing in time. */
function isSilent({ address, port, host }: HangTarget, patience: number): Promise<boolean> {
  return new Promise((resolve) => {
    let accepted = false;
    const socket = connect({ host: address, port });
    const end = (silent: boolean) => {
      clearTimeout(timer);
      socket.destroy();
      resolve(silent);
    };
    const timer = setTimeout(() => end(accepted), patience);
    socket.once('connect', () => {
      accepted = true;
      socket.write(`HEAD / HTTP/1.1\r\nHost: ${host}\r\nUser-Agent: ranvier-health\r\nConnection: close\r\n\r\n`);
    });
    socket.once('data', () => end(false));
    socket.once('end', () => end(false));
    // The health check itself detects a refused connection.
    socket.once('error', () => end(false));
  });
}
