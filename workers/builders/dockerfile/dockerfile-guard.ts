import { DOCKER_HUB, parseImage } from '../../../shared/images/image-reference.js';
import { BuildError } from '../../failures/explained-errors.js';
import { type Instruction, type ParsedDockerfile, parseDockerfile } from './dockerfile-instructions.js';

export interface GuardOptions {
  buildArgs: Readonly<Record<string, string>>;
  /** The prefix of the platform's images in its registry; null if there is no registry. */
  ownPrefix: string | null;
}

/** The prefix of the names that the platform gives to its images in a container engine. */
const OWN = 'ranvier/';
/** Matches the name of a service's image, which contains the service's UUID, anywhere in a text. */
const OWN_ANYWHERE = /(?:^|[^\w.-])ranvier\/[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}[:@]/im;
/** Matches Docker's own frontend in a `syntax` directive. Every engine contains this frontend. */
const USUAL_SYNTAX = /^(?:docker\.io\/)?docker\/dockerfile(?::[\w][\w.-]*)?(?:@sha256:[0-9a-f]{64})?$/;

const MAX_NAME_LENGTH = 1_000;
/** Bounds the work for a Dockerfile whose variables have many possible values. */
const MAX_EXPANSIONS = 20_000;

const MARK = '# The engine builds this with its own frontend.';

/** Returns the number of lines that `guardDockerfile` has added at the top of a Dockerfile. */
export function guardedHeader(lines: readonly string[]): number {
  return lines.indexOf(MARK) + 1;
}

/**
 * Returns the Dockerfile for the engine. A comment at its top makes engines ignore the `syntax` directive, because only
 * their own frontend is sure to keep the caches of services apart. Throws `BuildError` if the Dockerfile requests
 * another frontend, or names an image that the platform has built.
 */
export function guardDockerfile(text: string, options: GuardOptions): { text: string; notes: string[] } {
  const parsed = parseDockerfile(text);
  const syntax = parsed.directives.get('syntax');
  if (syntax !== undefined && !USUAL_SYNTAX.test(syntax)) {
    throw new BuildError(
      `the Dockerfile's "# syntax=" line names the frontend ${syntax.slice(0, 200)}, and builds here use the engine's own; ` +
        'remove the line',
    );
  }
  refuseOwnImages(parsed, options);
  const mark = parsed.directives.get('escape');
  const header = [...(mark === '`' || mark === '\\' ? [`# escape=${mark}`] : []), MARK];
  const notes = syntax === undefined ? [] : [`The "# syntax=" line is left out: the engine's own frontend builds`];
  return { text: [...header, text.replace(/^\ufeff/, ''), ''].join('\n'), notes };
}

/** Returns the names of the variables that a Dockerfile declares with `ARG`. */
export function declaredArguments(text: string): Set<string> {
  const names = new Set<string>();
  for (const instruction of parseDockerfile(text).instructions) {
    if (instruction.name === 'ARG') for (const { variable } of assignmentsOf(instruction)) names.add(variable);
  }
  return names;
}

/** Returns what an `ARG` or `ENV` sets. `text` is null for an `ARG` without a default. */
function assignmentsOf({ name, rest }: Instruction): { variable: string; text: string | null }[] {
  const words = rest.split(/\s+/);
  const [first = '', ...others] = words;
  // `ENV NAME some text` is the old form.
  if (name === 'ENV' && !first.includes('=')) return [{ variable: first, text: others.join(' ') }];
  return words.map((word) => {
    const equals = word.indexOf('=');
    if (equals < 0) return { variable: word, text: null };
    return { variable: word.slice(0, equals), text: unquoted(word.slice(equals + 1)) };
  });
}

/** Returns the names of a Dockerfile's stages, in lower case. */
export function stagesOf(text: string): string[] {
  return parseDockerfile(text).instructions.flatMap((instruction) => stageOf(instruction) ?? []);
}

function stageOf({ name, rest }: Instruction): string | undefined {
  return name === 'FROM' ? /\sAS\s+(\S+)\s*$/i.exec(rest)?.[1]?.toLowerCase() : undefined;
}

interface NamedImage {
  image: string;
  /** True if the name may refer to a stage instead, because it is a plain word in `--from` or in a mount. */
  isLikeStage: boolean;
}

/** Returns the images that a Dockerfile names, each once, without its own stages. */
export function namedImages(text: string, buildArgs: GuardOptions['buildArgs']): NamedImage[] {
  const stages = new Set(['scratch', '']);
  const values = new Map<string, string>();
  const found = new Map<string, NamedImage>();
  for (const instruction of parseDockerfile(text).instructions) {
    if (instruction.name === 'ARG') declare(instruction, values, buildArgs);
    for (const image of imagesOf(instruction).map((name) => expand(name, values))) {
      if (stages.has(image.toLowerCase()) || /^\d+$/.test(image)) continue;
      found.set(image, { image, isLikeStage: instruction.name !== 'FROM' && /^[\w-]+$/.test(image) });
    }
    const stage = stageOf(instruction);
    if (stage !== undefined) stages.add(stage);
  }
  return [...found.values()];
}

/** Refuses the platform's own images, in whichever way an engine may read the Dockerfile. */
function refuseOwnImages({ readings }: ParsedDockerfile, { buildArgs, ownPrefix }: GuardOptions): void {
  const settings = settingsOf(readings.instructions, buildArgs);
  const budget = { left: MAX_EXPANSIONS };
  const checked = new Set<string>();
  for (const instruction of readings.instructions) {
    // Engines do not expand variables in the mounts of a RUN. In its command, the shell expands them.
    const isExpanded = instruction.name !== 'RUN';
    for (const name of imagesOf(instruction)) {
      if (checked.has(`${isExpanded} ${name}`)) continue;
      checked.add(`${isExpanded} ${name}`);
      const images = expansionsOf(name, settings, budget);
      const own = images.find((image) => isOwn(image, ownPrefix));
      if (own !== undefined) throw ownImage(own);
      if (isExpanded && images.some((image) => image.includes('${'))) {
        throw new BuildError(
          `the Dockerfile names the image ${name.slice(0, 200)}: use only $NAME, \${NAME}, \${NAME:-default} and \${NAME:+other} in it`,
        );
      }
    }
  }
  for (const said of readings.texts) {
    const [found] = OWN_ANYWHERE.exec(said) ?? [];
    if (found !== undefined) throw ownImage(found.slice(0, 60));
  }
}

/** Name of a variable → the texts to which it may be set. A text may contain further variables. */
type Settings = ReadonlyMap<string, ReadonlySet<string>>;

function settingsOf(instructions: readonly Instruction[], buildArgs: GuardOptions['buildArgs']): Settings {
  const settings = new Map<string, Set<string>>();
  const add = (name: string, text: string) => {
    const known = settings.get(name) ?? new Set();
    settings.set(name, known.add((Object.hasOwn(buildArgs, name) ? buildArgs[name] : undefined) ?? text));
  };
  for (const instruction of instructions.filter(({ name }) => name === 'ARG' || name === 'ENV')) {
    for (const { variable, text } of assignmentsOf(instruction)) add(variable, text ?? '');
  }
  return settings;
}

/** Matches the first variable whose default has no variables itself. */
const VARIABLE = /\$\{(\w+)(?::([-+])([^${}]*))?\}|\$(\w+)/;

/** Returns every text that an image's name may become. Throws `BuildError` if there are too many. */
function expansionsOf(name: string, settings: Settings, budget: { left: number }): string[] {
  const seen = new Set([name]);
  const expanded: string[] = [];
  // Iteration over a set also yields the values that are added during the iteration.
  for (const one of seen) {
    const found = VARIABLE.exec(one);
    if (found === null) {
      expanded.push(one.replace(/["']/g, ''));
      continue;
    }
    const [whole, braced, mode, other = '', bare] = found;
    for (const value of new Set([...(settings.get(braced ?? bare ?? '') ?? []), ''])) {
      budget.left -= 1;
      if (budget.left < 0) throw new BuildError('the images that the Dockerfile names have too many variables');
      const next = one.slice(0, found.index) + chosen(value, mode, other) + one.slice(found.index + whole.length);
      if (next.length <= MAX_NAME_LENGTH) seen.add(next);
    }
  }
  return expanded;
}

/** Applies the default (`:-`) or the alternative (`:+`) of a variable. */
function chosen(value: string, mode: string | undefined, other: string): string {
  if (mode === '-') return value === '' ? other : value;
  return mode === '+' && value !== '' ? other : value;
}

function declare(argument: Instruction, values: Map<string, string>, buildArgs: GuardOptions['buildArgs']): void {
  for (const { variable, text } of assignmentsOf(argument)) {
    const given = Object.hasOwn(buildArgs, variable) ? buildArgs[variable] : undefined;
    const value = given ?? (text === null ? undefined : expand(text, values));
    if (value !== undefined) values.set(variable, value);
  }
}

function imagesOf({ name, rest }: Instruction): string[] {
  const words = rest.split(/\s+/).map(unquoted);
  const flags = words.flatMap((word) =>
    word.toLowerCase().startsWith('--from=') ? [word.slice('--from='.length)] : [],
  );
  const mounted = words
    .filter((word) => word.toLowerCase().startsWith('--mount='))
    .flatMap((word) => word.slice('--mount='.length).split(','))
    .map((field) => unquoted(field.trim()))
    .flatMap((field) => (/^from=/i.test(field) ? [field.slice('from='.length)] : []));
  const base = name === 'FROM' ? words.filter((word) => !word.startsWith('--')).slice(0, 1) : [];
  return [...base, ...flags, ...mounted].map(unquoted);
}

function isOwn(image: string, ownPrefix: string | null): boolean {
  const reference = parseImage(image);
  if (reference === null) return image.toLowerCase().startsWith(OWN);
  if (reference.registry === DOCKER_HUB && reference.path.startsWith(OWN)) return true;
  return ownPrefix !== null && `${reference.name}/`.startsWith(`${ownPrefix}/`);
}

function ownImage(image: string): BuildError {
  return new BuildError(
    `the Dockerfile names ${image}, an image that this installation has built; a build cannot use those, so name another image`,
  );
}

/** Expands `$NAME`, `${NAME}`, `${NAME:-…}` and `${NAME:+…}`. Unknown variables are empty. */
function expand(text: string, values: ReadonlyMap<string, string>): string {
  return text
    .replace(/\$\{(\w+)(?::([-+])([^}]*))?\}|\$(\w+)/g, (_, braced, mode, other = '', bare) => {
      return chosen(values.get(braced ?? bare) ?? '', mode, other);
    })
    .replace(/["']/g, '');
}

function unquoted(text: string): string {
  return text.replace(/^["']|["']$/g, '');
}
