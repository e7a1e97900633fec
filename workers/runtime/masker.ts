import { credentialsOf } from '../../shared/domain/source.js';
import { Masker } from '../../shared/secrets/mask.js';
import type { ReleaseSpec } from './driver.js';

/** Hides the values of a service's own variables and its repository's password; what the image says itself is no secret. */
export function maskerOf(spec: ReleaseSpec): Masker {
  const own = Object.entries(spec.environment).filter(
    ([name, value]) => spec.image.manifest.environment[name] !== value,
  );
  return new Masker([...own.map(([, value]) => value), ...credentialsOf(spec.configuration.repository)]);
}
