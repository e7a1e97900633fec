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
  /** The project's folder that holds all that `install` adds, which the next build may copy; null if there is none. */
  dependencies: string | null;
  /** Commands that complete the installation. Each build runs them, even if it copied `dependencies`. */
  prepare?: string[];
  /** Commands to run if `configuration.buildCommand` is empty. */
  build: string[];
  /** The start command; null if nothing in the repository names one. */
  start: string | null;
  /** A shell script that runs in place of `start`. Users see only `start`, because it is simpler. */
  startProgram?: string;
  /** The package manager that runs the project's scripts; '' if it has none. */
  manager: string;
  /** Ends the message "nothing says how to start it: …", such as `keep a Main.java in the root directory`. */
  startAdvice: string;
  /** Folders, relative to the project's, that come first in the PATH. */
  searchPath: string[];
  /** Variables of the build and of the running application. Paths are relative to the project's folder. */
  environment: Record<string, string>;
  buildEnvironment: Record<string, string>;
  /** Environment variable → a folder that is kept between builds. The variable gets the folder's path. */
  caches: Record<string, string>;
  /** The project's folders in which tools keep results for the next build. Images do not contain them. */
  keptFolders: string[];
}

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
  /** Plans a project. In a workspace, `files` are those of the root, `project` the package's. Throws `BuildError`. */
  plan(files: ProjectFiles, project?: ProjectFiles): LanguagePlan;
}
