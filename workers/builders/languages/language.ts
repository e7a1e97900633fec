import type { ProjectFiles } from '../files/project-files.js';
import type { Tool } from '../toolchains/required-tool.js';
import { NO_WISHES, type ToolWishes } from '../toolchains/version-wish.js';

/** How a project in one language is installed, built and started unless its configuration says otherwise. */
export interface LanguagePlan {
  tools: Tool[];
  /** The tools that the platform installs, in versions that the project names. */
  versions: ToolWishes;
  install: string[];
  /** The files that completely determine what `install` does; null if `install` may need the whole project. */
  manifests: string[] | null;
  /**
   * The folder, relative to the project's, that holds everything that `install` adds; null if there is none. The next
   * build may copy this folder if no manifest has changed.
   */
  dependencies: string | null;
  /** Commands that complete the installation. Each build runs them, even if it copied `dependencies`. */
  prepare?: string[];
  /** Commands to run if `configuration.buildCommand` is empty. */
  build: string[];
  /** The start command; null if nothing in the repository names one. */
  start: string | null;
  /**
   * A shell script that runs in place of `start`. Users are shown `start`, because it is simpler. Absent if `start`
   * itself runs.
   */
  startProgram?: string;
  /** The package manager that runs the project's scripts; '' if it has none. */
  manager: string;
  /**
   * Advice that ends the message "nothing says how to start it: …", such as `keep a Main.java in the root directory`.
   */
  startAdvice: string;
  /** Folders, relative to the project's, that come first in the PATH. */
  searchPath: string[];
  /** Variables of the build and of the running application. Paths are relative to the project's folder. */
  environment: Record<string, string>;
  /** Variables of the build only. */
  buildEnvironment: Record<string, string>;
  /** Environment variable → a folder that is kept between builds. The variable gets the folder's path. */
  caches: Record<string, string>;
  /** The project's folders in which tools keep results for the next build. Images do not contain them. */
  keptFolders: string[];
}

/** The defaults of a plan: nothing is installed, built or started. */
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

/** One programming language: how its projects are recognised, and how to build and start them. */
export interface Language {
  /** The language's name in detection results. For most languages, it is also the value of the setting `runtime`. */
  runtime: string;
  /** Files by which a project is recognised, for messages: `go.mod`. */
  marks: readonly string[];
  /** Files whose content `matches`, `leads` and `plan` use. */
  reads: readonly string[];
  matches(files: ProjectFiles): boolean;
  /** True if the project is in this language although it has a package.json, whose scripts then build its assets. */
  leads?(files: ProjectFiles): boolean;
  /**
   * Returns the plan of a project. `files` are the files of the folder in which packages are installed. If the project
   * is a package of a workspace, `project` are the project's own files. Throws `BuildError` if these files are invalid.
   */
  plan(files: ProjectFiles, project?: ProjectFiles): LanguagePlan;
}
