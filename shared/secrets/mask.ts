const MASK = '***';
/** Shorter values ("1", "dev") would mask ordinary words; they hide nothing. */
const SHORTEST_SECRET = 6;

/** Replaces secret values in log lines, also where they are base64- or URL-encoded. */
export class Masker {
  readonly #needles: string[];

  constructor(secrets: Iterable<string>) {
    const needles = new Set<string>();
    for (const secret of secrets) {
      // A value of several lines reaches the log line by line.
      for (const part of [secret, ...secret.split(/\r?\n/)]) {
        if (part.trim().length < SHORTEST_SECRET) continue;
        needles.add(part);
        needles.add(encodeURIComponent(part));
        const base64 = Buffer.from(part).toString('base64');
        needles.add(base64);
        needles.add(base64.replace(/=+$/, ''));
        needles.add(Buffer.from(part).toString('base64url'));
      }
    }
    // Longest first: a value that contains another is masked whole.
    this.#needles = [...needles].sort((a, b) => b.length - a.length);
  }

  mask(line: string): string {
    let masked = line;
    for (const needle of this.#needles) {
      if (masked.includes(needle)) masked = masked.replaceAll(needle, MASK);
    }
    return masked;
  }
}
