import { isBranchName } from '../core/string-formats.js';

/** A ref that a push updates. An id of zeros means that the ref is created or deleted. */
export interface RefUpdate {
  from: string;
  to: string;
  ref: string;
}

const NOTHING = /^0+$/;
const HEADS = 'refs/heads/';
/** Maximum number of branches in a pushed repository. */
export const MAX_BRANCHES = 200;
/** Maximum number of branches that one push may change. */
export const MAX_UPDATES = 1000;

export type RefDecision =
  /** Store the commit, deploy it, and update the branch once the deployment is live. */
  | { type: 'deploy'; branch: string }
  /** Update the branch immediately, because the service deploys another branch. */
  | { type: 'store'; branch: string }
  | { type: 'delete'; branch: string }
  | { type: 'refuse'; reason: string };

/** Returns how to handle a pushed ref. `deployed` is the branch that the service deploys. */
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
  /** True if the push should return as soon as the deployment is queued. */
  noWait: boolean;
  unknown: string[];
}

/** Parses the options passed with `git push -o`. */
export function readPushOptions(options: readonly string[]): PushOptions {
  const known = ['no-wait'];
  return { noWait: options.includes('no-wait'), unknown: options.filter((option) => !known.includes(option)) };
}

/** Returns the ref that protects a deployment's commit from garbage collection. The ref is hidden from clients. */
export function keptRef(deploymentId: string): string {
  return `refs/ranvier/${deploymentId}`;
}

export function branchRef(branch: string): string {
  return HEADS + branch;
}

const SCHEME = 'ranvier-push:';

/** Returns the internal address of a pushed repository, in place of a URL. Users cannot configure its scheme. */
export function pushedAddress({ workspaceId, serviceId }: { workspaceId: string; serviceId: string }): string {
  return `${SCHEME}${workspaceId}/${serviceId}`;
}

/** Parses an address from `pushedAddress`; null for any other text. */
export function parsePushedAddress(address: string): { workspaceId: string; serviceId: string } | null {
  if (!address.startsWith(SCHEME)) return null;
  const [workspaceId = '', serviceId = ''] = address.slice(SCHEME.length).split('/');
  return { workspaceId, serviceId };
}

export const PUSHED_FOLDER = 'pushed';
export const FOLDER_ID_FILE = 'id';
export function repositoryFolder(serviceId: string): string {
  return `${serviceId}.git`;
}
