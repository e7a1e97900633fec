/** Maximum number of scripts and style sheets of a page that are looked for in the published folder. */
const MAX_FILES = 20;
/** Maximum number of folders in a base path; `/docs/shop` has 2. */
const DEEPEST = 3;
const FILE = /\s(?:src|href)\s{0,5}=\s{0,5}["']?(\/[\w./@+-]{1,300}\.(?:m?js|css))(?=["'?#\s>])/gi;

/** Returns the base path (`/shop`) under which a built page expects its site; '' for the root. */
export async function baseOfPage(page: string, exists: (path: string) => Promise<boolean>): Promise<string> {
  const paths = [...page.matchAll(FILE)].map(([, path = '']) => path).filter((path) => !path.startsWith('//'));
  const bases = new Set<string>();
  for (const path of new Set(paths.slice(0, MAX_FILES))) {
    if (await exists(path.slice(1))) return '';
    const base = await missingFolders(path, exists);
    if (base !== null) bases.add(base);
  }
  const [only = ''] = bases;
  return bases.size === 1 ? only : '';
}

/** Returns `/shop` for the path `/shop/main.js` if the folder contains `main.js`; null if the file is not found. */
async function missingFolders(path: string, exists: (path: string) => Promise<boolean>): Promise<string | null> {
  const parts = path.slice(1).split('/');
  if (parts.some((part) => part === '' || part === '.' || part === '..')) return null;
  for (let depth = 1; depth <= DEEPEST && depth < parts.length; depth++) {
    if (await exists(parts.slice(depth).join('/'))) return `/${parts.slice(0, depth).join('/')}`;
  }
  return null;
}
