import { isBranchName } from '../core/string-formats.js';

/**
 * A ref that a push moves from one commit to another. An id of zeros stands for no commit: the ref is created or
 * deleted.
 */
export interface RefUpdate {
  from: string;
  to: string;
  ref: string;
}

const NOTHING = /^0+$/;
const HEADS = 'refs/heads/';
/** The most branches that one repository may have. */
export const MAX_BRANCHES = 200;
/** The most branches that one push may change. */
export const MAX_UPDATES = 1000;

export type RefDecision =
  /** Stores the commit, deploys it, and moves the branch when the deployment is live. */
  | { type: 'deploy'; branch: string }
  /** Moves the branch at once, because the service deploys another branch. */
  | { type: 'store'; branch: string }
  | { type: 'delete'; branch: string }
  | { type: 'refuse'; reason: string };

/** Returns what a push of this ref does. `branches` are the repository's current branches. */
export function decideRef(update: RefUpdate, deployed: string, branches: ReadonlySet<string>): RefDecision {
  if (!update.ref.startsWith(HEADS)) return { type: 'refuse', reason: 'only branches can be pushed' };
  const branch = update.ref.slice(HEADS.length);
  if (NOTHING.test(update.to)) return { type: 'delete', branch };
  if (!isBranchName(branch))
    return { type: 'refuse', reason: 'the name of the branch has characters that are not accepted' };
  if (branch === deployed) return { type: 'deploy', branch };
  if (!branches.has(branch) && branches.size >= MAX_BRANCHES) {
    return { type: 'refuse', reason: `there are ${MAX_BRANCHES} branches, which is the most; delete one first` };
  }
  return { type: 'store', branch };
}

export interface PushOptions {
  /** True if the push should end as soon as the deployment is queued. */
  noWait: boolean;
  unknown: string[];
}

/** Parses the options of `git push -o`. */
export function readPushOptions(options: readonly string[]): PushOptions {
  const known = ['no-wait'];
  return { noWait: options.includes('no-wait'), unknown: options.filter((option) => !known.includes(option)) };
}

/** Returns the ref that keeps a deployment's commit. Clients can neither push to it nor fetch it by name. */
export function keptRef(deploymentId: string): string {
  return `refs/ranvier/${deploymentId}`;
}

export function branchRef(branch: string): string {
  return HEADS + branch;
}

const SCHEME = 'ranvier-push:';

/**
 * Returns the address by which workers know a pushed repository, in place of a URL. A service cannot be given such an
 * address, because its protocol is not accepted.
 */
export function pushedAddress({ workspaceId, serviceId }: { workspaceId: string; serviceId: string }): string {
  return `${SCHEME}${workspaceId}/${serviceId}`;
}

/** Returns the parts of an address from `pushedAddress`; null for any other text. */
export function parsePushedAddress(address: string): { workspaceId: string; serviceId: string } | null {
  if (!address.startsWith(SCHEME)) return null;
  const [workspaceId = '', serviceId = ''] = address.slice(SCHEME.length).split('/');
  return { workspaceId, serviceId };
}

/** The folder of pushed repositories in DATA_DIR. */
export const PUSHED_FOLDER = 'pushed';
export const FOLDER_ID_FILE = 'id';
export function repositoryFolder(serviceId: string): string {
  return `${serviceId}.git`;
}
