import type { ProjectFiles } from '../files/project-files.js';
import { deno } from './deno.js';
import { dotnet } from './dotnet.js';
import { elixir } from './elixir.js';
import { go } from './go.js';
import { java } from './java.js';
import type { Language } from './language.js';
import { node } from './node.js';
import { php } from './php.js';
import { python } from './python.js';
import { ruby } from './ruby.js';
import { rust } from './rust.js';
import { shell } from './shell.js';

/** In order of precedence: many Node.js projects contain a Python script, but few Python projects a package.json. */
export const LANGUAGES: readonly Language[] = [node, deno, go, rust, ruby, php, elixir, java, dotnet, python, shell];

/** Returns the language of a project. A package.json means Node.js, unless another language uses it only for assets. */
export function languageOf(files: ProjectFiles): Language | null {
  const matching = LANGUAGES.filter((language) => language.matches(files));
  return matching.find((language) => language.leads?.(files) === true) ?? matching[0] ?? null;
}

/** Returns the language of a value of `runtime`; null if the value names no language. */
export function languageNamed(runtime: string): Language | null {
  return LANGUAGES.find((language) => language.runtime === runtime) ?? null;
}

/** The files by which projects are recognised: `package.json, go.mod`. */
export const MARKS: readonly string[] = LANGUAGES.flatMap((language) => language.marks);

/** Files whose text determines how a project is built. */
export const READ_FILES: readonly string[] = [...new Set(LANGUAGES.flatMap((language) => language.reads))];
