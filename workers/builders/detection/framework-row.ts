import type { Application, Start } from './application.js';

/**
 * What `@netlify/build-info` does not say: how a framework is started in production, and the folders to which it writes
 * a site. A row's functions look at the application's own files only.
 */
export interface FrameworkRow {
  name: string;
  /** Packages by which the table itself recognises it. The first row that matches is used. */
  packages: readonly string[];
  /** False if a project has these packages for something beside. Absent means always true. */
  applies?: (app: Application) => boolean;
  /** Run if package.json has no build script. */
  build?: string | ((app: Application) => string | null);
  /** Runs instead of the `build` script, because that script's result cannot be started. */
  buildInstead?: (app: Application) => string | null;
  /** In order of preference. The first one whose file exists after the build is used. */
  starts?: (app: Application) => Start[];
  /** Folders of a site, in order of preference. */
  publish?: (app: Application) => string[];
  /** True if one page answers every path. */
  singlePage?: (app: Application) => boolean;
  /** Start scripts that do not work in production although they start no development server. */
  replaces?: (app: Application, script: string) => boolean;
  /** Variables of the build, and of the running application. */
  buildEnvironment?: (app: Application) => Record<string, string>;
  environment?: Record<string, string>;
  /** The entry is written for another platform: Node.js cannot run it. */
  isForeign?: true;
  /** A library that applications build a server with. It decides nothing but the name. */
  isLibrary?: true;
}

/** The page of an application, in the folders of the usual tools. */
export const PAGES = ['index.html', 'public/index.html', 'src/index.html'];
export const PORT = '$' + '{PORT:-3000}';
export const yes = () => true;
export const start = (command: string, needs: string | null = null): Start => ({ command, needs });
export const preview = (command: string, needs: string | null = null): Start => ({ command, needs, isPreview: true });
export const vitePreview = (needs: string | null) => preview(`vite preview --host 0.0.0.0 --port ${PORT}`, needs);
export const folder = (...folders: string[]) => ({ publish: () => folders });
/** A page that loads an application which reads the path. */
export const page = (...folders: string[]) => ({ publish: () => folders, singlePage: yes });

/** A path without characters that a shell reads. */
export function plain(path: string): boolean {
  return /^[\w./@-]+$/.test(path);
}
