/** A text that names a version, and the file or field that says so, for messages: `.python-version`. */
export interface NamedVersion {
  text: string;
  source: string;
  /** True if the host's own version will do if no other can be had: the file names a minimum that compilers do not insist on. */
  optional?: boolean;
  /** True if the lowest major version that satisfies is installed if the host's own does not: the file names a minimum. */
  lowest?: boolean;
}

/** The files of a project by their names; undefined for one that is not there. */
interface Texts {
  text(name: string): string | undefined;
}

/** Files that name versions of several tools. */
export const VERSION_FILES = ['.tool-versions', 'mise.toml', '.mise.toml'];

/** The first line of a file that is nothing but a version, such as `.nvmrc`, without its comment; null if there is none. */
export function versionFile(files: Texts, source: string): NamedVersion | null {
  const lines = (files.text(source) ?? '').replace(/^\ufeff/, '').split('\n');
  const text = lines.map((line) => line.replace(/#.*$/, '').trim()).find((line) => line !== '');
  return text === undefined ? null : { text, source };
}

/** What the first group of a pattern finds in a file's text; null if it finds nothing. */
export function versionIn(files: Texts, file: string, pattern: RegExp, source = file): NamedVersion | null {
  const text = pattern.exec(files.text(file) ?? '')?.[1]?.trim();
  return text === undefined || text === '' ? null : { text, source };
}

/** What `.tool-versions`, or else `mise.toml`, says about a tool that has one of these names; null if it names no version. */
export function generalVersion(files: Texts, names: readonly string[]): NamedVersion | null {
  const name = `(?:${names.join('|')})`;
  const line = new RegExp(`^[ \\t]*${name}[ \\t]+(?!(?:ref|path):|system\\s*$|#)(\\S+)`, 'm');
  const entry = new RegExp(
    `^[ \\t]*"?${name}"?[ \\t]*=[ \\t]*(?:\\[|\\{[^}\\n]{0,200}\\bversion[ \\t]*=)?[ \\t]*"(?!(?:ref|path):|system")([^"\\n]{1,100})"`,
    'm',
  );
  const found = VERSION_FILES.map((file) => versionIn(files, file, file === '.tool-versions' ? line : entry));
  return found.find((version) => version !== null) ?? null;
}
