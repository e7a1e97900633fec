import { createRequire } from 'node:module';
import { fileURLToPath } from 'node:url';

/** The folder of the installed package or of the checkout. */
export const PACKAGE_ROOT = fileURLToPath(new URL('../../../', import.meta.url));

/** Returns the path of the Node.js that npm installed with the package; null if there is none. */
export function carriedNode(): string | null {
  try {
    return createRequire(import.meta.url).resolve(`node-${process.platform}-${process.arch}/bin/node`);
  } catch {
    return null;
  }
}
