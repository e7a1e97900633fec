import { MAX_VOLUMES, mountPathProblem } from '../../../../shared/volumes/model.js';
import { type Copy, contextOf, folderOf, type Place } from './compose-source.js';
import { interpolate, type Reading } from './compose-text.js';
import { type Loose, looseOf, textOf } from './loose.js';
import { type Volumes, volumeName } from './service-parts.js';

/** Files that every container already has. */
const OF_THE_SYSTEM: readonly string[] = ['/etc/localtime', '/etc/timezone'];
/** Matches the names of folders that contain data. */
const DATA = /(^|[/_-])(data|logs?|uploads?|storage|media|volumes?|db|cache|backups?)([/_-]|$)/i;

/** Returns true if a service controls Docker, as container consoles and service-discovering proxies do. */
export function needsDocker({ volumes }: Loose): boolean {
  return [volumes].flat().some((mount) => /docker\.sock/.test(textOf(mount) || textOf(looseOf(mount).source)));
}

/**
 * Converts mounts to volumes, or to copies of repository files in the image. `shared` has the sources of earlier
 * volumes.
 */
export function volumesOf(
  at: string,
  service: Loose,
  { shared, repository, folder, env, lost }: Reading & Place & { shared: Set<string> },
): { volumes: Volumes; copies: Copy[] } {
  const volumes: Volumes = {};
  const copies: Copy[] = [];
  const own = new Set<string>();
  const copied = ({ source, target, readOnly }: Mount, isHidden: boolean) => {
    const from = source.startsWith('.') ? folderOf(folder, source) : null;
    if (service.build !== undefined || repository === '' || !from || (!readOnly && !isFile(source) && !isHidden))
      return false;
    copies.push({ source: from, target });
    const what = `${target} is copied from ${from} of the repository into the image`;
    // A mounted folder replaces the image's folder at that path; a copied one is merged into it.
    if (isFile(source)) lost(`${at}.volumes`, what, 'note');
    else lost(`${at}.volumes`, `${what}, over the files that are there: check that none of them is in the way`);
    return true;
  };
  const lose = (path: string, reason: string) => lost(`${at}.volumes`, `${path}${reason}`);
  for (const given of [service.volumes].flat()) {
    const mount = typeof given === 'string' ? parseVolume(interpolate(given, env).value) : longVolume(looseOf(given));
    const { type, source, target: path } = mount;
    if (path === '' || OF_THE_SYSTEM.includes(path) || isOfImage(mount, service)) continue;
    const problem = mountPathProblem(
      path,
      Object.values(volumes).map(({ mountPath }) => mountPath),
    );
    if (type === 'tmpfs') lost(`${at}.volumes`, `${path} is an ordinary folder, and not in memory`, 'note');
    else if (type === 'bind' && (!isData(mount, service) || problem !== null) && copied(mount, problem !== null))
      continue;
    else if (type === 'bind' && !isData(mount, service)) {
      const isBuilt = service.build !== undefined && source.startsWith('.');
      const why = isBuilt
        ? 'is in the image only if its Dockerfile copies it: check that it does'
        : 'is of the host and is not mounted: make an image with a Dockerfile that copies it';
      lose(path, `: ${source} ${why}`);
    } else if (problem !== null)
      lose(path, ` ${problem}: no volume can be there. Let the service keep its data elsewhere`);
    else if (Object.keys(volumes).length === MAX_VOLUMES)
      lose(path, ` is a sixth volume, and ${MAX_VOLUMES} are possible: keep the data of two in one`);
    else {
      const what = ` is the folder ${source} of the host: it becomes a volume, which is empty`;
      // The new volume is empty. For a folder that is only for data, a note is enough. Any other folder may have files
      // in the repository that must be copied into the volume.
      if (type === 'bind' && (/^[/~]/.test(source) || DATA.test(source)))
        lost(`${at}.volumes`, `${path}${what}`, 'note');
      else if (type === 'bind') lose(path, `${what}: copy into it what the repository has there`);
      if (source !== '' && own.has(source))
        lose(source, ' is mounted twice, and each place gets its own: let the service use one of them');
      else if (source !== '' && shared.has(source))
        lose(source, ' is shared by two services, and each gets its own: let one of them serve the files to the other');
      own.add(source);
      shared.add(source);
      volumes[volumeName(source || path, Object.keys(volumes))] = { mountPath: path, sizeGb: 1 };
    }
  }
  return { volumes, copies };
}

/**
 * Returns true if the built image already has the files of a mount: the mount is the folder that is built, or it is an
 * anonymous volume for packages that the build installs.
 */
function isOfImage({ source, target }: Mount, { build }: Loose): boolean {
  const plain = (folder: string) => folder.replace(/^\.\//, '').replace(/^\.$|\/$/g, '');
  const isAnonymous = source === '' && /\/(node_modules|vendor|\.venv|\.next)$/.test(target);
  return build !== undefined && (isAnonymous || (source !== '' && plain(source) === plain(contextOf(build))));
}

/**
 * Returns true if a mount is for data, so that it becomes a volume. If the service is built, a folder of the repository
 * is for data only if its name says so, because the image contains the repository's other folders.
 */
function isData({ source, target, readOnly }: Mount, { build }: Loose): boolean {
  if (readOnly || isFile(target) || isFile(source)) return false;
  return build === undefined || /^[/~]/.test(source) || DATA.test(source);
}

function isFile(path: string): boolean {
  return /[^/]\.[A-Za-z]\w*$/.test(path);
}

interface Mount {
  type: string;
  /** The name of the volume or the path on the host; '' for an anonymous volume. */
  source: string;
  target: string;
  readOnly: boolean;
}

function parseVolume(text: string): Mount {
  const [first = '', second, options = ''] = text.split(':');
  if (second === undefined) return { type: 'volume', source: '', target: trimmed(first), readOnly: false };
  const type = /^[./~$]/.test(first) ? 'bind' : 'volume';
  return { type, source: first, target: trimmed(second), readOnly: options.split(',').includes('ro') };
}

function longVolume({ type, source, target, read_only: readOnly }: Loose): Mount {
  return { type: textOf(type), source: textOf(source), target: trimmed(textOf(target)), readOnly: readOnly === true };
}

function trimmed(path: string): string {
  let end = path.length;
  while (end > 1 && path[end - 1] === '/') end -= 1;
  return path.slice(0, end);
}
