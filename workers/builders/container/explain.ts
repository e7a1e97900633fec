import { engineMessage, engineStatus } from '../../docker/engine.js';
import { BuildError } from '../builder.js';

/** How each builder, and each of its versions, says that a command failed: the command and its code. */
const FAILED_COMMAND = [
  /executor failed running \[(.*)\]: (?:exit code|runc did not terminate sucessfully): ?(\d*)/s,
  /process "(.*)" did not complete successfully: exit code: (\d+)/s,
  /The command '(.*)' returned a non-zero code: (\d+)/s,
];
const SHELL = /^\/bin\/sh -c /;
/** What generated Dockerfiles put before a plan's command. */
const PREFIX = /^(export NODE_ENV=development; |TOOLS=\S+; mkdir -p \$TOOLS; )/;
const KILLED = 137;
const UNAVAILABLE =
  /pull access denied|manifest (unknown|for )|repository .*not found|: not found$|dial tcp|failed to do request|no such host|unauthorized|authentication required|no basic auth|x509|TLS handshake|server gave HTTP/i;
const FRAME =
  /^(failed to solve( with frontend \S+)?|failed to create LLB definition|rpc error: code = \w+ desc =|failed to compute cache key)[: ]+/i;

export interface ExplainedBuild {
  kind: 'buildkit' | 'classic';
  /** Where the names of base images come from. */
  origin: string;
  memoryMb: number;
}

/**
 * Why a build failed, for the person who deployed: the command, its code and what it said last (`cause`), or what the
 * engine says. An engine that did not answer is a fault of the platform and stays as it is.
 */
export function explainBuild(error: unknown, build: ExplainedBuild, cause: string): unknown {
  if (error instanceof BuildError) return error;
  if (typeof error !== 'string' && engineStatus(error) === undefined) return error;
  const message = typeof error === 'string' ? error : engineMessage(error);
  for (const pattern of FAILED_COMMAND) {
    const [found, command = '', code = ''] = pattern.exec(message) ?? [];
    if (found !== undefined) return failedCommand(command, Number(code), build, cause);
  }
  const reason = withoutFrame(message);
  if (/docker\/dockerfile(?!\S*\.)/.test(message)) {
    return new BuildError(
      `the Dockerfile's "# syntax=" line names a frontend that the engine cannot pull: ${reason}; remove the line`,
    );
  }
  const secret = /secret (\S+) not found|secret (\S+): not found/.exec(message);
  if (secret) {
    return new BuildError(
      `${build.origin} needs the secret "${secret[1] ?? secret[2]}", and the service has no such variable`,
    );
  }
  if (UNAVAILABLE.test(message)) {
    return new BuildError(`an image that ${build.origin} names cannot be pulled: ${reason}`);
  }
  return new BuildError(`the build failed: ${reason}`);
}

function failedCommand(command: string, code: number, build: ExplainedBuild, cause: string): BuildError {
  const name = command.replace(SHELL, '').replace(PREFIX, '');
  if (code === KILLED) {
    const why = build.kind === 'classic' ? `, most likely for using more than ${build.memoryMb} MB of memory` : '';
    return new BuildError(`"${name}" was killed (code ${code})${why}`);
  }
  return new BuildError(`"${name}" exited with code ${code}${cause === '' ? '' : `: ${cause}`}`);
}

/** Without the layers of the engine that the error went through. */
function withoutFrame(message: string): string {
  let reason = message.trim();
  while (FRAME.test(reason)) reason = reason.replace(FRAME, '');
  return reason;
}
