import type { ServiceConfiguration } from '../../../shared/services/configuration.js';
import type { FoundFramework, Start } from '../detection/application.js';
import type { LanguagePlan } from '../languages/language.js';
import type { Tool } from '../toolchains/tool.js';

/** The steps of a build, decided before any command runs. */
export interface BuildPlan
  extends Pick<
    LanguagePlan,
    | 'tools'
    | 'versions'
    | 'manifests'
    | 'dependencies'
    | 'prepare'
    | 'searchPath'
    | 'environment'
    | 'buildEnvironment'
    | 'caches'
    | 'keptFolders'
  > {
  type: 'process' | 'static';
  runtime: string;
  tools: Tool[];
  install: string[];
  build: string[];
  /** Where the commands of `install` and `build` run, and where the application starts. Relative to the repository. */
  folders: { install: string; build: string; project: string };
  /** Folders of packages of the workspace that the project can do without, relative to where is installed. */
  unneeded?: readonly string[];
  /** Empty for a static site. Otherwise the first of `starts`. */
  startCommand: string;
  /** In order of preference: the first whose file exists after the build is used. */
  starts: Start[];
  /** What the Procfile wants to run before each release; absent if it names nothing. */
  releaseCommand?: string;
  /** What is published if it is a site, or if no start can be used; null if files are never published. */
  publish: PublishPlan | null;
  framework: FoundFramework | null;
  /** Lines for the build's log: what was detected, why, and which setting changes it. */
  explanation: string[];
}

export interface PublishPlan {
  /** Folders below the project, in order of preference. Used if `publishDirectory` has its default value. */
  folders: string[];
  /** True if one page answers every path. */
  singlePage: boolean;
  /** Folders that had an index.html before the build, relative to the project. */
  pages: string[];
}

export type Settings = Pick<
  ServiceConfiguration,
  'runtime' | 'buildMethod' | 'sourceType' | 'buildCommand' | 'startCommand'
>;

/** What the installation can build besides folders. */
export interface BuildCapabilities {
  /** True if it builds images of a container engine, and so any Dockerfile. */
  containers: boolean;
}
