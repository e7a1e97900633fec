/** What one replica may bring into the log: so much each second, and so much at once after it was quiet. */
const BYTES_A_SECOND = 256 * 1024;
const BURST_BYTES = 32 * 1024 * 1024;

/** How many bytes of its output a replica may bring into the log now. */
export class LogAllowance {
  #bytes = BURST_BYTES;
  #grantedAt = Date.now();

  /** Bytes that are left, negative where more was taken than there was. */
  left(): number {
    const now = Date.now();
    this.#bytes = Math.min(BURST_BYTES, this.#bytes + ((now - this.#grantedAt) / 1000) * BYTES_A_SECOND);
    this.#grantedAt = now;
    return this.#bytes;
  }

  take(bytes: number): void {
    this.#bytes -= bytes;
  }

  /** How long until there is something left, in milliseconds. */
  waitMs(): number {
    return Math.max(0, Math.ceil((-this.left() / BYTES_A_SECOND) * 1000));
  }
}
