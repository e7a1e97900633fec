import type { ServiceConfiguration } from '../../../../shared/services/configuration.js';
import type { Files } from '../../../support/repositories.js';

export interface Sample {
  name: string;
  /** A program of the host without which the test is skipped. */
  needs: string;
  readonly files: Files;
  configuration?: Partial<ServiceConfiguration>;
  expects: { body: string };
  /** True if a second build reuses the packages that the first one installed. */
  keeps?: boolean;
}
