import { engineMessage, engineStatus } from '../../docker/docker-engine.js';
import { BuildError } from '../../failures/explained-errors.js';
import { withAdvice } from '../../failures/failure-advice.js';

/** The forms in which versions of BuildKit report a failed command and its exit code. */
const FAILED_COMMAND = [
  /executor failed running \[(.*)\]: (?:exit code|runc did not terminate sucessfully): ?(\d*)/s,
  /process "(.*)" did not complete successfully: exit code: (\d+)/s,
];
const SHELL = /^\/bin\/sh -c /;
/** Generated Dockerfiles put this prefix before install commands. */
const PREFIX = /^export NODE_ENV=development; /;
const KILLED = 137;
const UNAVAILABLE =
  /pull access denied|manifest (unknown|for )|repository .*not found|: not found$|dial tcp|failed to do request|no such host|unauthorized|authentication required|no basic auth|x509|TLS handshake|server gave HTTP/i;
const FRAME =
  /^(failed to solve( with frontend \S+)?|failed to create LLB definition|rpc error: code = \w+ desc =|failed to compute cache key)[: ]+/i;

const ENTITLEMENT = /\b(?:network\.host|security\.insecure|device) is not allowed|entitlement \S+ is not allowed/;
/** Maximum length of a matched message. The expressions above are slow on longer ones, which tenants can produce. */
const MAX_MESSAGE_LENGTH = 8192;

/**
 * Returns an error that tells the user why a build failed. `cause` is the most significant line of output. If the
 * engine did not respond, returns the error unchanged: it is a fault of the platform.
 */
export function explainBuild(
  error: unknown,
  { origin }: { origin: string },
  cause: string,
  advice: string | null = null,
): unknown {
  if (error instanceof BuildError) return error;
  if (typeof error !== 'string' && engineStatus(error) === undefined) return error;
  const message = bounded(typeof error === 'string' ? error : engineMessage(error));
  for (const pattern of FAILED_COMMAND) {
    const [found, command = '', code = ''] = pattern.exec(message) ?? [];
    if (found !== undefined) return failedCommand(command, Number(code), cause, advice);
  }
  const reason = withoutFrame(message);
  if (/docker\/dockerfile(?!\S*\.)/.test(message)) {
    return new BuildError(
      `the Dockerfile's "# syntax=" line names a frontend that the engine cannot pull: ${reason}; remove the line`,
    );
  }
  if (ENTITLEMENT.test(message)) {
    return new BuildError(
      `${origin} asks for --network=host or --security=insecure, which no build gets; remove the option`,
    );
  }
  const secret = /secret (\S+) not found|secret (\S+): not found/.exec(message);
  if (secret) {
    return new BuildError(
      `${origin} needs the secret "${secret[1] ?? secret[2]}", and the service has no such variable; add it, or remove the mount`,
    );
  }
  if (UNAVAILABLE.test(message)) {
    return new BuildError(`an image that ${origin} names cannot be pulled: ${reason}`);
  }
  return new BuildError(`the build failed: ${reason}`);
}

/** Returns the beginning and the end of a long message. The cause is in one of these two parts. */
function bounded(message: string): string {
  const half = MAX_MESSAGE_LENGTH / 2;
  return message.length <= MAX_MESSAGE_LENGTH ? message : `${message.slice(0, half)} … ${message.slice(-half)}`;
}

function failedCommand(command: string, code: number, cause: string, advice: string | null): BuildError {
  const name = command.replace(SHELL, '').replace(PREFIX, '');
  if (code === KILLED) {
    return new BuildError(`"${name}" was killed (code ${code}); it may have used too much memory`);
  }
  const text = `"${name}" exited with code ${code}${cause === '' ? '' : `: ${cause}`}`;
  return new BuildError(withAdvice(text, advice));
}

function withoutFrame(message: string): string {
  let reason = message.trim();
  while (FRAME.test(reason)) reason = reason.replace(FRAME, '');
  return reason;
}
