import type { ProjectFiles } from '../project-files.js';
import type { ToolWishes } from './version-wish.js';

/** A program that a build needs on the host. */
export interface Tool {
  name: string;
  /** A shell command that succeeds if the tool is installed. */
  check: string;
  /** What to do if it is not. */
  advice: string;
  /** Installs the tool below `$TOOLS` in a container without it; absent if only another base image helps. */
  install?: string;
}

/** How a project in one language is installed, built and started if its configuration says nothing. */
export interface ToolchainPlan {
  tools: Tool[];
  /** The tools that the platform installs in the version that the project names. */
  versions: ToolWishes;
  install: string[];
  /** The files that alone decide what `install` does; null if it may need the whole project. */
  manifests: string[] | null;
  /** Commands to run if `configuration.buildCommand` is empty. */
  build: string[];
  /** Null if nothing in the repository says how to start it. */
  start: string | null;
  /** The package manager that runs the project's scripts; '' if it has none. */
  manager: string;
  /** Completes "nothing says how to start it: set startCommand, …". */
  startAdvice: string;
  /** Folders below the project's folder that come first in the PATH. */
  searchPath: string[];
  /** Variables of the build and of the running application. Paths are relative to the project's folder. */
  environment: Record<string, string>;
  /** Variables of the build only. */
  buildEnvironment: Record<string, string>;
  /** Variables that name a folder kept between builds → that folder's name. */
  caches: Record<string, string>;
  /** Folders of the project in which its tools keep results for the next build. They are no part of the image. */
  keptFolders: string[];
}

export interface Toolchain {
  runtime: 'node' | 'python' | 'go';
  matches(files: ProjectFiles): boolean;
  /**
   * `files` are those of the folder in which is installed; `project` those of the project, if it is a package of a workspace.
   * Throws `BuildError` if these files are invalid.
   */
  plan(files: ProjectFiles, project?: ProjectFiles): ToolchainPlan;
}

export function program(name: string, advice: string, install?: string): Tool {
  return { name, check: `command -v ${name}`, advice, ...(install === undefined ? {} : { install }) };
}
