import type { KnownFailure } from './known-failure.js';

/** Maps each PHP extension to its Debian package, if the two have different names. */
const PHP_PACKAGES: Readonly<Record<string, string>> = Object.fromEntries(
  Object.entries({
    xml: ['dom', 'simplexml', 'xmlreader', 'xmlwriter', 'xsl'],
    mysql: ['mysqli', 'mysqlnd', 'pdo_mysql'],
    pgsql: ['pdo_pgsql'],
    sqlite3: ['pdo_sqlite'],
  }).flatMap(([name, extensions]) => extensions.map((extension) => [extension, name])),
);

/** Failures of package managers of languages other than Node.js. */
export const LANGUAGE_FAILURES: readonly KnownFailure[] = [
  {
    name: 'PHP extension is missing',
    shows: /\bext-([a-z0-9_]{1,40}) .{0,80}missing from your system/,
    advice: ([, name = '']) =>
      `The project needs the PHP extension ${name}, which is not installed on this host. Ask the operator to install it (Debian: apt-get install php-${PHP_PACKAGES[name] ?? name}), or remove the package that requires it and commit composer.json with composer.lock.`,
  },
  {
    name: 'gem with native code',
    shows: /Failed to build gem native extension/,
    advice: () =>
      'A gem contains native code that could not be compiled. Ask the operator to install ruby-dev, build-essential and the library that the output names (Debian: libpq-dev for pg, libyaml-dev for psych), or use a version of the gem with a prebuilt binary.',
  },
  {
    name: 'Python package does not exist',
    shows:
      /No matching distribution found for ([^\s;]{1,100})|Could not find a version that satisfies the requirement ([^\s;]{1,100})/,
    advice: ([, one, two]) =>
      `pip found no version of ${one ?? two} for this Python. Check its name and version in requirements.txt, or set another Python version in .python-version.`,
  },
  {
    name: 'Python versions conflict',
    shows:
      /ResolutionImpossible|conflicting dependencies|SolverProblemError|because .{1,200} depends on .{1,200} version solving failed/i,
    advice: () =>
      'Two Python packages need different versions of the same package. Relax one of the versions in the requirements, and commit the updated lock file.',
  },
  {
    name: 'poetry.lock out of sync',
    shows:
      /pyproject\.toml changed significantly since poetry\.lock|poetry\.lock is not up to date|lockfile at `?uv\.lock`? needs to be updated/i,
    advice: () =>
      'The lock file does not match pyproject.toml. Run "poetry lock" or "uv lock" on your machine, and commit the lock file.',
  },
  {
    name: 'Python module is missing',
    shows: /ModuleNotFoundError: No module named '([\w.]{1,100})'/,
    advice: ([, name]) =>
      `Python cannot import the module ${name}. Add the package that provides it to requirements.txt or pyproject.toml, or correct the start command if it is a module of the project.`,
  },
  {
    name: 'Python package without compiler',
    shows:
      /Failed building wheel for ([\w.-]{1,100})|error: command '[^']{0,80}(?:gcc|cc|g\+\+)' failed|pg_config executable not found/,
    advice: () =>
      'A Python package contains native code that could not be compiled. Use a package with a prebuilt wheel (such as psycopg2-binary), or ask the operator to install build-essential, python3-dev and the library that the output names.',
  },
  {
    name: 'wrong Ruby',
    shows: /Your Ruby version is ([\d.]{1,20}), but your Gemfile specified ([^\s]{1,40})/,
    advice: ([, installed, wanted]) =>
      `The Gemfile needs Ruby ${wanted}, and the build uses Ruby ${installed}. Commit a .ruby-version with a version that the Gemfile accepts, and deploy again.`,
  },
  {
    name: 'Gemfile.lock out of sync',
    shows:
      /Gemfile\.lock.{0,80}(?:frozen|does not satisfy|out of sync)|because the lockfile can't be updated|only supports platforms \[/i,
    advice: () =>
      'Gemfile.lock does not match the Gemfile or lacks the platform of this host. Run "bundle lock --add-platform x86_64-linux" on your machine, and commit Gemfile.lock.',
  },
  {
    name: 'gem does not exist',
    shows: /Could not find gem '([^'\s]{1,80})|Could not find compatible versions/,
    advice: () =>
      'Bundler found no version of a gem that fits the Gemfile. Correct the name or the version in the Gemfile, run "bundle install", and commit both files.',
  },
  {
    name: 'go.sum out of sync',
    shows: /missing go\.sum entry|updates to go\.(?:mod|sum) needed|go: inconsistent vendoring/,
    advice: () =>
      'go.mod, go.sum or the vendor folder do not match the imports. Run "go mod tidy" (and "go mod vendor" if you use it) on your machine, and commit the files.',
  },
  {
    name: 'wrong Go',
    shows: /go\.mod requires go >= ([\d.]{1,20})|module requires Go ([\d.]{1,20})/,
    advice: ([, one, two]) =>
      `The project needs Go ${one ?? two} or newer. Set that version in the "go" line of go.mod, or ask the operator to install it.`,
  },
  {
    name: 'Go package is missing',
    shows: /no required module provides package ([^\s;]{1,150})|package ([\w./-]{1,150}) is not in (?:std|GOROOT)/,
    advice: ([, one, two]) =>
      `The Go package ${one ?? two} is imported but not required in go.mod. Run "go mod tidy" on your machine, and commit go.mod and go.sum.`,
  },
  {
    name: 'Cargo.lock out of sync',
    shows: /the lock file .{0,200} needs to be updated but --(?:locked|frozen)/,
    advice: () =>
      'Cargo.lock does not match Cargo.toml. Run "cargo update --workspace" on your machine, and commit Cargo.lock.',
  },
  {
    name: 'Rust does not compile',
    shows: /^error: could not compile `([\w-]{1,80})`/,
    advice: ([, name]) =>
      `The Rust compiler reported errors in ${name}. Run "cargo build --release" on your machine, fix the errors above, and commit the change.`,
  },
  {
    name: 'composer.lock out of sync',
    shows:
      /lock file is not up to date with the latest changes in composer\.json|is not present in the lock file|Your lock file does not contain a compatible set of packages/,
    advice: () =>
      'composer.lock does not match composer.json or this version of PHP. Run "composer update" on your machine with the same PHP version, and commit composer.lock.',
  },
  {
    name: 'Composer package does not exist',
    shows: /Root composer\.json requires ([\w./-]{1,100})[^,]{0,80}, (?:it could not be found|found)/,
    advice: ([, name]) =>
      `Composer found no version of ${name} that fits. Correct its name or version in composer.json, and commit it with composer.lock.`,
  },
  {
    name: 'Maven artifact does not exist',
    shows:
      /Could not (?:resolve dependencies|find artifact|transfer artifact) |Could not resolve all (?:files|dependencies|artifacts) for configuration/,
    advice: () =>
      'Maven or Gradle found no version of a dependency in its repositories. Correct the name or the version, or add the repository that has it to the build file.',
  },
  {
    name: 'Java does not compile',
    shows: /COMPILATION ERROR|Execution failed for task ':(?:[\w-]{1,40}:)?compile(?:Java|Kotlin)'/,
    advice: () =>
      'The Java or Kotlin compiler reported errors. Run the same build on your machine, fix the errors that the log lists, and commit the change.',
  },
  {
    name: 'wrong Java',
    shows: /(?:invalid (?:target|source) release|release version (\d{1,3}) not supported|UnsupportedClassVersionError)/,
    advice: () =>
      'The project needs another version of Java than the build uses. Set the version in .java-version or in the build file, and deploy again.',
  },
];
