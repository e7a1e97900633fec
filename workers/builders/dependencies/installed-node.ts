import { posix } from 'node:path';
import { isText, recordOf } from '../files/json-values.js';
import { parsePackage } from '../files/package-manifest.js';
import { textInside } from '../files/project-files.js';
import { frameworkNode, impliedNode } from '../toolchains/implied-node.js';
import type { VersionWish } from '../toolchains/version-wish.js';

const MAX_PACKAGES = 300;
const NAME = /^(?:@[\w.-]{1,100}\/)?[\w.-]{1,100}$/;

interface InstalledInput {
  /** Real path of the folder with the repository's files. No command may run in it during the call. */
  app: string;
  /** The project's folder and the folder in which its packages are installed, relative to the repository. */
  folders: string[];
}

interface InstalledNode {
  needed: VersionWish | null;
  framework: VersionWish | null;
}

/** Finds which versions of Node.js the packages in package.json and the most demanding framework need. */
export async function installedNode({ app, folders }: InstalledInput): Promise<InstalledNode> {
  const dependencies: Record<string, unknown> = {};
  const engines: Record<string, string> = {};
  for (const folder of new Set(folders)) {
    const names = Object.keys(await dependenciesOf(app, folder)).filter((name) => NAME.test(name));
    for (const name of names.slice(0, MAX_PACKAGES)) {
      dependencies[name] = '';
      for (const place of folders) {
        const engine = await engineOf(app, posix.join(place, 'node_modules', name, 'package.json'));
        if (engine !== null) engines[name] ??= engine;
      }
    }
  }
  return { needed: impliedNode(dependencies, engines), framework: frameworkNode(dependencies, engines) };
}

async function dependenciesOf(app: string, folder: string): Promise<Record<string, unknown>> {
  const text = await textInside(app, posix.join(folder, 'package.json'));
  const { dependencies, devDependencies } = parsePackage(text ?? '{}');
  return { ...recordOf(dependencies), ...recordOf(devDependencies) };
}

async function engineOf(app: string, path: string): Promise<string | null> {
  const text = await textInside(app, path).catch(() => undefined);
  try {
    const { node } = recordOf(parsePackage(text ?? '{}').engines);
    return isText(node) ? node : null;
  } catch {
    return null;
  }
}
