/** A text that names a version, and the file or field that contains it, for messages: `.python-version`. */
export interface NamedVersion {
  text: string;
  source: string;
  /** True for a mere preference: the host's own version is used if no matching one can be installed. */
  optional?: boolean;
  /** Set for a minimum: if the host's version is too old, the lowest major version that matches is installed. */
  lowest?: boolean;
}

interface Texts {
  text(name: string): string | undefined;
}

/** Files that name versions of several tools. */
export const VERSION_FILES = ['.tool-versions', 'mise.toml', '.mise.toml'];

/** Returns the version in a file that holds nothing else (`.nvmrc`); null if there is none. */
export function versionFile(files: Texts, source: string): NamedVersion | null {
  const lines = (files.text(source) ?? '').replace(/^\ufeff/, '').split('\n');
  const text = lines.map((line) => line.replace(/#.*$/, '').trim()).find((line) => line !== '');
  return text === undefined ? null : { text, source };
}

/** Returns what a pattern's first group matches in a file; null if it matches nothing. */
export function versionIn(files: Texts, file: string, pattern: RegExp, source = file): NamedVersion | null {
  const text = pattern.exec(files.text(file) ?? '')?.[1]?.trim();
  return text === undefined || text === '' ? null : { text, source };
}

/** Returns a tool's version from `.tool-versions`, otherwise from `mise.toml`; null if neither has it. */
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
