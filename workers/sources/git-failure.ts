import type { Remote } from './checked-remote.js';
import type { GitResult } from './git-command.js';

/** Returns true if the server responded with a redirect, which git does not follow. */
export function isRedirect({ stderr }: GitResult): boolean {
  return /The requested URL returned error: 30[12378]/.test(stderr);
}

/** Returns true if the server refuses to serve a commit by its id, and serves only branches and tags. */
export function refusesCommits({ stderr }: GitResult): boolean {
  return /Server does not allow request for unadvertised object/.test(stderr);
}

/** Returns true if the fetched branch does not exist, or if its name is invalid. */
export function missesBranch({ code, stderr }: GitResult): boolean {
  return code !== 0 && /couldn't find remote ref|invalid refspec/i.test(stderr);
}

/** Returns the cause of a failure of the server or the connection; null for any other failure. */
export function explainRemote(remote: Remote, { stderr }: GitResult): string | null {
  const { url, hasCredentials, hadQuery } = remote;
  if (/Permission denied \(/.test(stderr)) {
    return `${url} refuses the deploy key of the workspace; add its public half, which the console shows under Workspace, Deploy key, to the repository`;
  }
  if (/Host key verification failed|REMOTE HOST IDENTIFICATION HAS CHANGED/.test(stderr)) {
    return `${url} has another host key than on its first use; if that is right, forget the pinned one (DELETE …/deploy-key/hosts/{id})`;
  }
  if (/ssh: connect to host|Connection (timed out|refused|closed)/.test(stderr))
    return `${url} is not reachable over SSH`;
  const found = (pattern: RegExp) => pattern.exec(stderr)?.[1] ?? '';
  if (/could not read (Username|Password)|Authentication failed|returned error: 40[13]/.test(stderr)) {
    return hasCredentials
      ? `${url} refuses the user and password in the repository address; correct them`
      : `${url} does not exist or needs credentials; check the address, or add a user and token (https://user:token@host/…)${hadQuery ? '; the query of its address is not sent' : ''}`;
  }
  if (/repository '.*' not found|returned error: 4(04|10)/.test(stderr))
    return `${url} does not exist; check the address`;
  if (/does not appear to be a git repository/.test(stderr)) return `${url} is not a git repository`;
  const status = found(/The requested URL returned error: (\d+)/);
  if (status !== '') return `${url} answers with HTTP status ${status}; try again later`;
  if (/Operation too slow|timed out|timeout/i.test(stderr)) return `${url} does not answer, or far too slowly`;
  const cause = found(/unable to access '[^']*': (.+)/);
  if (cause !== '') return `${url} is not reachable: ${cause}`;
  if (/not our ref|couldn't find remote ref/.test(stderr)) return `the commit is not in ${url}`;
  if (/transport '(.*)' not allowed/.test(stderr)) return `${url} uses a protocol that is not allowed`;
  const fsck = found(/fsck error in packed object|error: object (.+)/);
  if (fsck !== '') return `${url} has a damaged or unsafe object: ${fsck}`;
  if (/invalid server response|protocol error|the remote end hung up unexpectedly|early EOF/i.test(stderr)) {
    return `${url} broke off the connection or does not speak git`;
  }
  return null;
}

/** Returns the last error line of git's output or, if it has no error line, its last line. */
export function lastLine({ stderr, code, killedBy }: GitResult): string {
  const lines = stderr.split('\n').map((line) => line.trim());
  const said = lines.findLast((line) => /^(fatal|error):/.test(line)) ?? lines.findLast((line) => line !== '');
  return said ?? `git ended with ${killedBy ?? `code ${code}`}`;
}
