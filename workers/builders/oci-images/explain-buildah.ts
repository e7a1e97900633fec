import { guardedHeader } from '../dockerfile/dockerfile-guard.js';

const AT_STEP = /^Error: (?:building|error building) at STEP "((?:[^"\\]|\\.)*)": (.*)$/s;
/** Details that buildah adds for its own developers. */
const INTERNAL = / &imagebuilder\.Step\{.*$/s;
const ORIGINAL = /Original:("(?:[^"\\]|\\.)*")/;

/** Returns a message about a failed instruction; null if `cause`, buildah's last line, names none. */
export function explainBuildah(dockerfile: string, cause: string): string | null {
  const [, quoted = '', said = ''] = AT_STEP.exec(cause) ?? [];
  if (said === '') return null;
  const [, original] = ORIGINAL.exec(said) ?? [];
  const step = original === undefined ? quoted : String(JSON.parse(original));
  const reason = said.replace(INTERNAL, '').replace(/^Build error: /, '');
  const number = lineOf(dockerfile, step);
  const place = number === null ? 'an instruction' : `line ${number}`;
  return `${place} of the Dockerfile, ${step.slice(0, 200)}: ${reason}`;
}

/** Returns the number of the line that begins an instruction. Lines that the platform added at the top do not count. */
function lineOf(dockerfile: string, step: string): number | null {
  const wanted = spaced(step);
  const lines = dockerfile.split('\n');
  const index = lines.findIndex((line) => {
    const begun = spaced(line.replace(/[\\`]\s*$/, ''));
    return begun !== '' && !begun.startsWith('#') && (wanted === begun || wanted.startsWith(`${begun} `));
  });
  return index < 0 ? null : index + 1 - guardedHeader(lines);
}

function spaced(text: string): string {
  return text.trim().replace(/\s+/g, ' ');
}
