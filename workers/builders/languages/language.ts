import type { ProjectFiles } from '../files/project-files.js';
import type { Tool } from '../toolchains/tool.js';
import { NO_WISHES, type ToolWishes } from '../toolchains/version-wish.js';

/** How a project in one language is installed, built and started if its configuration says nothing. */
export interface LanguagePlan {
  tools: Tool[];
  /** The tools that the platform installs in the version that the project names. */
  versions: ToolWishes;
  install: string[];
  /** The files that alone decide what `install` does; null if it may need the whole project. */
  manifests: string[] | null;
  /**
   * The folder below the project's folder that holds all that `install` adds, so that the next build may take it over if no manifest has
   * changed; null if there is none.
   */
  dependencies: string | null;
  /** Commands that complete the installation in each build, also if its dependencies were taken over. Absent if there are none. */
  prepare?: string[];
  /** Commands to run if `configuration.buildCommand` is empty. */
  build: string[];
  /** Null if nothing in the repository says how to start it. */
  start: string | null;
  /** A shell program that runs if `start` is used, and does more than `start` tells users; absent if `start` itself runs. */
  startProgram?: string;
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

/** What a plan has that its language does not set: nothing is installed, built or started. */
export const EMPTY_PLAN: LanguagePlan = {
  tools: [],
  versions: NO_WISHES,
  install: [],
  manifests: [],
  dependencies: null,
  build: [],
  start: null,
  manager: '',
  startAdvice: '',
  searchPath: [],
  environment: {},
  buildEnvironment: {},
  caches: {},
  keptFolders: [],
};

/** One language of applications: how its projects are recognised, and how they become a running application. */
export interface Language {
  /** A value of `runtime`, or the name that detection shows. */
  runtime: string;
  /** Files that show a project in this language, for messages: `go.mod`. */
  marks: readonly string[];
  /** Files whose text `matches`, `leads` and `plan` read. */
  reads: readonly string[];
  matches(files: ProjectFiles): boolean;
  /** True if the project is in this language although it has a package.json, which builds its assets. */
  leads?(files: ProjectFiles): boolean;
  /**
   * `files` are those of the folder in which is installed; `project` those of the project, if it is a package of a workspace.
   * Throws `BuildError` if these files are invalid.
   */
  plan(files: ProjectFiles, project?: ProjectFiles): LanguagePlan;
}
