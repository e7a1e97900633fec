import type { ServiceConfiguration } from '../../../../shared/services/configuration.js';
import type { Files } from '../../../support/repositories.js';

/** A small project that goes live with no setting. */
export interface Sample {
  name: string;
  /** A program of the host; the row is pending without it. */
  needs: string;
  readonly files: Files;
  configuration?: Partial<ServiceConfiguration>;
  expects: { body: string };
  /** True if a second build takes over what the first one has installed. */
  keeps?: boolean;
}
