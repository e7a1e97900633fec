import { checkHost, findingLines } from './check-host.js';
import { readFacts } from './read-facts.js';

/** Prints what this host lacks and whether the platform works. Returns exit code 1 if a requirement is missing. */
export async function doctor(isJson: boolean): Promise<number> {
  const findings = checkHost(await readFacts());
  process.stdout.write(isJson ? `${JSON.stringify({ findings }, null, 2)}\n` : findingLines(findings));
  return findings.some(({ state }) => state === 'missing') ? 1 : 0;
}
