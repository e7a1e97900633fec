/**
 * Every process except `rnv` imports this file first, because packages that need a newer Node.js fail with misleading
 * errors.
 */
const MIN_MAJOR = 24;

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
