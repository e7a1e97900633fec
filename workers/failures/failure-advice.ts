import { PLANS } from '../../shared/services/plan-catalog.js';
import type { FailureFacts, KnownFailure } from './known-failure.js';
import { KNOWN_FAILURES } from './known-failures.js';

const MAX_LINE_LENGTH = 400;
/** At most the first `FIRST_LINES` and the last `ADVICE_LINES` lines of an output are searched for known failures. */
export const FIRST_LINES = 50;
export const ADVICE_LINES = 100;

/** Returns advice for a failure that is recognized in an output; null if none is. */
export function adviceFor(output: readonly string[], facts: FailureFacts): string | null {
  const known = recognise(output, facts);
  return known === null ? null : known.failure.advice(known.found, facts);
}

/** Returns the known failure that an output shows, with the match of its expression; null for none. */
export function recognise(
  output: readonly string[],
  facts: FailureFacts,
): { failure: KnownFailure; found: RegExpExecArray } | null {
  const lines = output
    .slice(-FIRST_LINES - ADVICE_LINES)
    .map((line) => plain(line.slice(0, 2 * MAX_LINE_LENGTH)).slice(0, MAX_LINE_LENGTH))
    // npm prints many harmless warnings.
    .filter((line) => !/^npm warn\b/i.test(line));
  for (const failure of KNOWN_FAILURES) {
    const { phase, shows, when } = failure;
    if ((phase !== undefined && phase !== facts.phase) || when?.(facts) === false) continue;
    for (const line of lines) {
      const found = shows.exec(line);
      if (found !== null) return { failure, found };
    }
  }
  return null;
}

/** Returns advice for a command that the kernel killed because it used too much memory. */
export function memoryAdvice({ phase, memoryMb }: FailureFacts): string {
  const larger = PLANS.find((plan) => plan.memoryMb > memoryMb);
  const what = phase === 'build' ? 'build' : 'application';
  if (larger === undefined) return `No plan has more memory. Change the ${what} so that it uses less.`;
  return (
    `${phase === 'build' ? 'A' : 'An'} ${what} on the plan ${larger.id} may use ${larger.memoryMb} MB. ` +
    `Choose that plan, or change the ${what} so that it uses less memory.`
  );
}

/** Appends advice to the description of a failure. */
export function withAdvice(text: string, advice: string | null): string {
  return advice === null ? text : `${text.replace(/[.\s]+$/, '')}. ${advice}`;
}

/** Removes colors and other control sequences. */
export function plain(line: string): string {
  // biome-ignore lint/suspicious/noControlCharactersInRegex: escape sequences begin with one
  return line.replace(/\u001b\[[0-9;?]{0,20}[A-Za-z]/g, '').trimEnd();
}
