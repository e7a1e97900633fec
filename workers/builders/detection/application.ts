import type { PackageManifest } from '../files/package-manifest.js';
import type { ProjectFiles } from '../files/project-files.js';

/** A framework that `@netlify/build-info` or our own table (`FRAMEWORKS`) has recognized. */
export interface FoundFramework {
  /** The framework's id in build-info or in our table. */
  id: string;
  name: string;
  /** The version in package.json, such as `15.2.1`; null if package.json names none. */
  version: string | null;
}

/** The facts about an application that decide which rows of `FRAMEWORKS` apply to it. */
export interface Application {
  files: ProjectFiles;
  manifest: PackageManifest;
  framework: FoundFramework | null;
  /** The application's Nx project; null outside of Nx. */
  nx: NxProject | null;
}

export interface NxProject {
  name: string;
  /** The folder to which the build writes, relative to the application's folder; null if project.json names none. */
  output: string | null;
}

export interface Start {
  command: string;
  /** The file that `command` needs after the build, relative to the project; null if no such file is known. */
  needs: string | null;
  /** The command that really runs, while users see `command`. Null or absent if `command` itself runs. */
  direct?: string | null;
  /** True if the command only serves the output of a build. */
  isPreview?: boolean;
}

export function dependsOn({ manifest }: Pick<Application, 'manifest'>, ...names: string[]): boolean {
  return names.some((name) => Object.hasOwn(manifest.dependencies, name));
}

/** Returns the text of a configuration file with any usual extension, without comments; '' if none. */
export function configText({ files }: Pick<Application, 'files'>, stem: string): string {
  for (const extension of ['ts', 'js', 'mjs', 'cjs', 'mts', 'cts']) {
    const text = files.text(`${stem}.${extension}`);
    if (text !== undefined) return withoutComments(text);
  }
  return '';
}

/** Removes lines that are comments, because settings in them have no effect. Comments at the end of a line remain. */
export function withoutComments(text: string): string {
  return text
    .split('\n')
    .filter((line) => !/^[ \t]*(\/\/|\*|\/\*)/.test(line))
    .join('\n');
}

/** Returns the text of a property such as `outDir: 'build'`; null if its value is not a plain string. */
export function property(text: string, name: string): string | null {
  return new RegExp(`\\b${name}['"]?[ \\t]*:[ \\t]*['"\`]([^'"\`\\n]{1,200})['"\`]`).exec(text)?.[1] ?? null;
}

/** Returns true if a property has this literal value: `ssr: false`, `output: 'export'`. */
export function says(text: string, name: string, value: string): boolean {
  return new RegExp(`\\b${name}['"]?[ \\t]*:[ \\t]*['"\`]?${value}\\b`).test(text);
}

/** Returns the first major version of a range: `^15.1.0` → 15; null if the range names none. */
export function majorOf(range: string | undefined | null): number | null {
  const digits = /\d{1,6}/.exec((range ?? '').slice(0, 100))?.[0];
  return digits === undefined ? null : Number(digits);
}
