import type { Application, Start } from './application.js';

/**
 * What the platform adds to `@netlify/build-info`'s knowledge of a framework: how it starts in production, and to which
 * folders it writes a site. A row's functions read only the application's own files.
 */
export interface FrameworkRow {
  name: string;
  /** A project with one of these packages uses the framework. The first matching row counts. */
  packages: readonly string[];
  /** Returns false if a project has these packages for a side purpose. If absent, the row always applies. */
  applies?: (app: Application) => boolean;
  /** The build command if package.json has no build script. */
  build?: string | ((app: Application) => string | null);
  /** The build command in place of the `build` script, if that script's result cannot be started. */
  buildInstead?: (app: Application) => string | null;
  /** Ways to start, the best first. The first one whose file exists after the build is used. */
  starts?: (app: Application) => Start[];
  /** Folders of a site, in order of preference. */
  publish?: (app: Application) => string[];
  /** True if one page answers every path. */
  singlePage?: (app: Application) => boolean;
  /** Returns true for start scripts that do not work in production although they start no development server. */
  replaces?: (app: Application, script: string) => boolean;
  /** Variables of the build, and of the running application. */
  buildEnvironment?: (app: Application) => Record<string, string>;
  environment?: Record<string, string>;
  /** True if the framework writes its entry for another platform, so that Node.js cannot run it. */
  isForeign?: true;
  /** True for a library of servers. It gives the project its name and decides nothing else. */
  isLibrary?: true;
}

/** Where the usual tools keep the page of an application. */
export const PAGES = ['index.html', 'public/index.html', 'src/index.html'];
export const PORT = '$' + '{PORT:-3000}';
export const yes = () => true;
export const start = (command: string, needs: string | null = null): Start => ({ command, needs });
export const preview = (command: string, needs: string | null = null): Start => ({ command, needs, isPreview: true });
export const vitePreview = (needs: string | null) => preview(`vite preview --host 0.0.0.0 --port ${PORT}`, needs);
export const folder = (...folders: string[]) => ({ publish: () => folders });
/** Returns the fields of a row for a single-page application, whose one page answers every path. */
export const page = (...folders: string[]) => ({ publish: () => folders, singlePage: yes });

/** Returns true for a path without special characters of a shell. */
export function plain(path: string): boolean {
  return /^[\w./@-]+$/.test(path);
}
