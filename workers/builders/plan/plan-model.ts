import type { ServiceConfiguration } from '../../../shared/services/configuration.js';
import type { FoundFramework, Start } from '../detection/application.js';
import type { LanguagePlan } from '../languages/language.js';

/** The steps of a build, decided before any command runs. */
export interface BuildPlan extends Omit<LanguagePlan, 'start' | 'startProgram' | 'startAdvice' | 'manager'> {
  type: 'process' | 'static';
  runtime: string;
  /** Where the commands of `install` and `build` run, and where the application starts; relative to the repository. */
  folders: { install: string; build: string; project: string };
  /** Folders of workspace packages on which the project does not depend, relative to `folders.install`. */
  unneeded?: readonly string[];
  /** The command of the first of `starts`; empty for a static site. */
  startCommand: string;
  /** Ordered by preference: the first one whose file exists after the build is used. */
  starts: Start[];
  /** The `release` command of the Procfile, which runs before each release. */
  releaseCommand?: string;
  /** What is published if the project is a site, or if no start can be used; null if files are never published. */
  publish: PublishPlan | null;
  framework: FoundFramework | null;
  /** Lines for the build's log: what was detected, why, and which setting changes it. */
  explanation: string[];
}

export interface PublishPlan {
  /** Folders to publish, relative to the project, the best first. Used if `publishDirectory` has its default value. */
  folders: string[];
  /** True if one page is served for every path. */
  singlePage: boolean;
  /** Folders that had an index.html before the build, relative to the project. */
  pages: string[];
}

export type Settings = Pick<
  ServiceConfiguration,
  'runtime' | 'buildMethod' | 'sourceType' | 'buildCommand' | 'startCommand'
>;

export interface BuildCapabilities {
  /** True if this installation builds images for a container engine, and therefore any Dockerfile. */
  containers: boolean;
}
