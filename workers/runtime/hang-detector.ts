import { connect } from 'node:net';

/** The detector's intervals and timeouts, in milliseconds. */
export interface HangTimes {
  /** Interval between requests while the application responds. */
  interval: number;
  /** Timeout for the first byte of a response. */
  patience: number;
}

const TIMES: HangTimes = { interval: 30_000, patience: 10_000 };
/**
 * Number of consecutive requests without a response after which the application counts as hanging. A single missing
 * response may be due to a slow start or a busy host.
 */
const SILENCES = 2;

export interface HangTarget {
  address: string;
  port: number;
  host: string;
}

/**
 * Detects an application that hangs. Its port accepts connections even then, because the kernel accepts them. Used
 * for services without a `healthCheckPath`. Any response counts, even an error or a closed connection. Requests run
 * in the background, so that nothing waits for a hanging application. Each attempt to run a replica has its own
 * detector.
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

  /** Returns the reason if the last requests got no response, otherwise ''. Sends the next request if it is due. */
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
      // While the application does not respond, the next health check sends another request at once.
      this.#nextAt = silent ? 0 : Date.now() + this.#times.interval;
    });
  }
}

/** Returns true if the port accepts a connection but sends nothing within the timeout. Never rejects. */
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
    // A refused connection is no hang: the health check itself detects it.
    socket.once('error', () => end(false));
  });
}
