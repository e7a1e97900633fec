import { BuildError } from '../../failures/explained-errors.js';
import type { ProjectFiles } from '../files/project-files.js';
import { languageWish } from '../toolchains/language-wish.js';
import { program } from '../toolchains/required-tool.js';
import { type NamedVersion, versionFile, versionIn } from '../toolchains/version-files.js';
import { wishesFor } from '../toolchains/version-wish.js';
import { EMPTY_PLAN, type Language, type LanguagePlan } from './language.js';

const BINARY = '.ranvier/app';

/** Rust projects, recognised by a Cargo.toml. Compiled dependencies stay in the service's cache. */
export const rust: Language = {
  runtime: 'rust',
  marks: ['Cargo.toml'],
  reads: ['Cargo.toml', 'rust-toolchain', 'rust-toolchain.toml'],
  matches: (files) => files.has('Cargo.toml'),
  // Beside a package.json, a crate that sets `crate-type` may be a native module of the Node.js package.
  leads: (files) => files.has('src/main.rs') && !/^\s*crate-type\s*=/m.test(files.text('Cargo.toml') ?? ''),
  plan(files): LanguagePlan {
    const isVendored = files.has('vendor') && (files.has('.cargo/config.toml') || files.has('.cargo/config'));
    const flags = ['--release', ...(files.has('Cargo.lock') ? ['--locked'] : []), ...(isVendored ? ['--offline'] : [])];
    const name = binaryOf(files);
    return {
      ...EMPTY_PLAN,
      tools: [program('cargo', 'install Rust (Debian: apt-get install cargo)')],
      versions: wishesFor(languageWish(files, 'rust', versionsOf(files))),
      build: [
        `cargo build ${flags.join(' ')} --bin ${name}`,
        `mkdir -p .ranvier && cp "$CARGO_TARGET_DIR/release/${name}" ${BINARY}`,
      ],
      start: `./${BINARY}`,
      startAdvice: 'keep a src/main.rs in the package',
      environment: { ROCKET_ADDRESS: '0.0.0.0' },
      buildEnvironment: { CARGO_TERM_COLOR: 'never', CARGO_NET_RETRY: '2' },
      caches: { CARGO_HOME: 'cargo', CARGO_TARGET_DIR: 'cargo-target' },
    };
  },
};

/** Returns versions in order of precedence. `rust-version` is only a preference, because cargo itself checks it. */
function versionsOf(files: ProjectFiles): (NamedVersion | null)[] {
  const channel = versionIn(files, 'rust-toolchain.toml', /^\s*channel\s*=\s*"([^"\n]{1,60})"/m);
  const plain = (files.text('rust-toolchain') ?? '').includes('[')
    ? versionIn(files, 'rust-toolchain', /^\s*channel\s*=\s*"([^"\n]{1,60})"/m)
    : versionFile(files, 'rust-toolchain');
  const minimum = versionIn(files, 'Cargo.toml', /^\s*rust-version\s*=\s*"([^"\n]{1,60})"/m);
  const named = [channel, plain].map((version) =>
    version && /^(stable|beta|nightly)/.test(version.text) ? null : version,
  );
  return [...named, minimum && { text: `>=${minimum.text}`, source: 'rust-version in Cargo.toml', optional: true }];
}

/** Returns the name of the binary to build. Throws `BuildError` if there is none, or if none is clearly the server. */
function binaryOf(files: ProjectFiles): string {
  const text = files.text('Cargo.toml') ?? '';
  const defaultRun = /^\s*default-run\s*=\s*"([\w-]{1,100})"/m.exec(text)?.[1];
  if (defaultRun !== undefined) return defaultRun;
  const named = [...text.matchAll(/^\[\[bin\]\][^[]{0,2000}?^\s*name\s*=\s*"([\w-]{1,100})"/gm)].flatMap(
    (match) => match[1] ?? [],
  );
  const own = /^\[package\][^[]{0,4000}?^\s*name\s*=\s*"([\w-]{1,100})"/m.exec(text)?.[1];
  const extra = files.below('src/bin').map((name) => name.replace(/\.rs$/, ''));
  const all = [...new Set([...named, ...(files.has('src/main.rs') && own !== undefined ? [own] : []), ...extra])];
  const [only] = all;
  if (all.length === 1 && only !== undefined) return only;
  const likely = all.find((name) => name === own) ?? all.find((name) => /^(server|web|api|app|main)$/.test(name));
  if (likely !== undefined) return likely;
  if (all.length > 1) {
    throw new BuildError(
      `Cargo.toml has several binaries: ${all.slice(0, 20).join(', ')}. Set default-run in [package] to the one that serves requests.`,
    );
  }
  return membersBinary(files, text);
}

/** Returns the name of the workspace member with a main program. Throws `BuildError` if none is clearly the server. */
function membersBinary(files: ProjectFiles, text: string): string {
  if (!/^\[workspace\]/m.test(text))
    throw new BuildError('Cargo.toml has no binary: add a src/main.rs, or set buildCommand and startCommand');
  const list = /^\s*(?:default-)?members\s*=\s*\[([^\]]{0,4000})\]/m.exec(text)?.[1] ?? '';
  const folders = [...list.matchAll(/"([^"\n]{1,200})"/g)].flatMap(([, path = '']) => {
    if (!path.endsWith('/*')) return [path];
    const parent = path.slice(0, -2);
    return files.below(parent).map((name) => `${parent}/${name}`);
  });
  const programs = folders
    .filter((folder) => files.has(`${folder}/src/main.rs`))
    .map((folder) => folder.split('/').at(-1) ?? folder);
  const chosen =
    programs.length === 1 ? programs[0] : programs.find((name) => /^(server|web|api|app|main)$/.test(name));
  if (chosen !== undefined) return chosen;
  throw new BuildError(
    programs.length === 0
      ? 'no member of the Cargo workspace has a src/main.rs: set buildCommand and startCommand'
      : `the Cargo workspace has several programs: ${programs.slice(0, 20).join(', ')}. Set rootDirectory to the folder of the one that serves requests.`,
  );
}
