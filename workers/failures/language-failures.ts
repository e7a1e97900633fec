import type { KnownFailure } from './known-failure.js';

/** Debian's packages of PHP extensions that are not named like their extension. */
const PHP_PACKAGES: Readonly<Record<string, string>> = Object.fromEntries(
  Object.entries({
    xml: ['dom', 'simplexml', 'xmlreader', 'xmlwriter', 'xsl'],
    mysql: ['mysqli', 'mysqlnd', 'pdo_mysql'],
    pgsql: ['pdo_pgsql'],
    sqlite3: ['pdo_sqlite'],
  }).flatMap(([name, extensions]) => extensions.map((extension) => [extension, name])),
);

/** Failures of the package managers of languages besides Node.js. */
export const LANGUAGE_FAILURES: readonly KnownFailure[] = [
  {
    name: 'PHP extension is missing',
    shows: /\bext-([a-z0-9_]{1,40}) .{0,80}missing from your system/,
    advice: ([, name = '']) =>
      `The project needs the PHP extension ${name}, which this host lacks. Have the operator install it (Debian: apt-get install php-${PHP_PACKAGES[name] ?? name}), or remove what requires it from composer.json and commit the new composer.lock.`,
  },
  {
    name: 'gem with native code',
    shows: /Failed to build gem native extension/,
    advice: () =>
      'A gem has native code, and compiling it failed. Have the operator install ruby-dev, build-essential and the library that the output names (Debian: libpq-dev for pg, libyaml-dev for psych), or lock a version of the gem with a binary for this platform.',
  },
];
