import type { PackageManifest } from '../files/package-manifest.js';
import type { ProjectFiles } from '../files/project-files.js';

/** A framework as `@netlify/build-info` found it, or as our table did. */
export interface FoundFramework {
  /** build-info's name for it, or ours. */
  id: string;
  name: string;
  /** As package.json names it: `15.2.1`; null if it names none. */
  version: string | null;
}

/** The facts about an application that the rows of the table read. */
export interface Application {
  files: ProjectFiles;
  manifest: PackageManifest;
  framework: FoundFramework | null;
  /** The project of Nx that it is; null for all others. */
  nx: NxProject | null;
}

export interface NxProject {
  name: string;
  /** What its build writes, relative to the application's folder; null if project.json does not say. */
  output: string | null;
}

/** One way to start an application. */
export interface Start {
  command: string;
  /** A file below the project that must exist after the build; null if the command needs none that is known. */
  needs: string | null;
  /** What runs instead: the same with fewer processes, or with what it needs. Null if `command` itself runs. */
  direct?: string | null;
  /** It only shows what a build has written. */
  isPreview?: boolean;
}

export function dependsOn({ manifest }: Pick<Application, 'manifest'>, ...names: string[]): boolean {
  return names.some((name) => Object.hasOwn(manifest.dependencies, name));
}

/** The text of the first of these files that exists; ''. */
export function configText({ files }: Pick<Application, 'files'>, stem: string): string {
  for (const extension of ['ts', 'js', 'mjs', 'cjs', 'mts', 'cts']) {
    const text = files.text(`${stem}.${extension}`);
    if (text !== undefined) return withoutComments(text);
  }
  return '';
}

/** A commented line must not decide anything. Strings with `//` only lose their end. */
export function withoutComments(text: string): string {
  return text
    .split('\n')
    .filter((line) => !/^[ \t]*(\/\/|\*|\/\*)/.test(line))
    .join('\n');
}

/** The text of a property such as `outDir: 'build'`; null if it has no such plain value. */
export function property(text: string, name: string): string | null {
  return new RegExp(`\\b${name}['"]?[ \\t]*:[ \\t]*['"\`]([^'"\`\\n]{1,200})['"\`]`).exec(text)?.[1] ?? null;
}

/** True if a property has this literal value: `ssr: false`, `output: 'export'`. */
export function says(text: string, name: string, value: string): boolean {
  return new RegExp(`\\b${name}['"]?[ \\t]*:[ \\t]*['"\`]?${value}\\b`).test(text);
}

/** The major version that a range begins with: `^15.1.0` → 15; null if it names none. */
export function majorOf(range: string | undefined | null): number | null {
  const digits = /\d{1,6}/.exec((range ?? '').slice(0, 100))?.[0];
  return digits === undefined ? null : Number(digits);
}
