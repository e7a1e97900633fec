/**
 * Every process of the platform imports this file first: packages that need a newer Node.js fail with misleading
 * errors. `rnv` does not import it, because it runs on older versions.
 */
const MIN_MAJOR = 24;

/** Returns a message for an operator whose Node.js is too old; null if it is new enough. */
export function nodeProblem(version: string): string | null {
  if (Number.parseInt(version, 10) >= MIN_MAJOR) return null;
  return (
    `Ranvier runs on Node.js ${MIN_MAJOR} or newer, and this is ${version}. \`npm ci\` installs one into node_modules on Linux and on ` +
    'Macs with an Intel processor: start the process by npm, or put node_modules/.bin first in its PATH. Elsewhere, install it.'
  );
}

const problem = nodeProblem(process.versions.node);
if (problem !== null) {
  process.stderr.write(`${problem}\n`);
  process.exit(1);
}
