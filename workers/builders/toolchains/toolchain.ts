import type { ProjectFiles } from '../project.js';

/** A program that a build needs on the host. */
export interface Tool {
  name: string;
  /** A shell command that succeeds where the tool is there. */
  check: string;
  /** What to do where it is not. */
  advice: string;
  /** Installs it in a container whose base image lacks it, below `$TOOLS`; absent where only another base image helps. */
  install?: string;
}

/** How a project in one language is installed, built and started where its configuration says nothing. */
export interface ToolchainPlan {
  tools: Tool[];
  install: string[];
  /** The files that alone decide what `install` does; null where it may need the whole project. */
  manifests: string[] | null;
  /** Run where `configuration.buildCommand` is empty. */
  build: string[];
  /** Null where nothing in the repository says how to start it. */
  start: string | null;
  /** Completes "nothing says how to start it: set startCommand, …". */
  startAdvice: string;
  /** Folders, below the project's, in which commands are found first. */
  searchPath: string[];
  /** For the build and for the running application; paths are relative to the project's folder. */
  environment: Record<string, string>;
  /** For the build alone. */
  buildEnvironment: Record<string, string>;
  /** Variables that name a folder kept between builds → that folder's name. */
  caches: Record<string, string>;
}

export interface Toolchain {
  runtime: 'node' | 'python' | 'go';
  matches(files: ProjectFiles): boolean;
  /** Throws `BuildError` where the project's own files are unusable. */
  plan(files: ProjectFiles): ToolchainPlan;
}

export function program(name: string, advice: string, install?: string): Tool {
  return { name, check: `command -v ${name}`, advice, ...(install === undefined ? {} : { install }) };
}
