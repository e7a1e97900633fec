import type { RuleView } from '../rules/model.js';
import type { PartialServiceConfiguration } from '../services/configuration.js';
import type { ServiceKind } from '../services/model.js';
import type { VariableScope } from '../variables/model.js';

/** A reference to another service, by its name in the environment or by its id. */
export type ReferenceWish = { service: string; key: string } | { serviceId: string; key: string };

/** The source of a variable's value. A generated or secret variable keeps an existing value. */
export type Content = { value: string } | { reference: ReferenceWish } | { generate: number } | { secret: true };

export interface VariableWish {
  key: string;
  scope: VariableScope;
  content: Content;
}

export interface VolumeWish {
  name: string;
  mountPath: string;
  sizeGb: number;
}

export interface DomainWish {
  name: string;
  /** The host name to which all requests are redirected; null if the service gets them. */
  redirectTo: string | null;
}

/** A service or database as described in a document. */
export interface ServiceWish {
  name: string;
  /** JSON pointer to the entry in the document. */
  path: string;
  kind: ServiceKind;
  section: 'services' | 'databases';
  archived: boolean;
  /** The fields that the document sets. The others have their defaults. */
  configuration: PartialServiceConfiguration;
  variables: VariableWish[];
  volumes: VolumeWish[];
  domains: DomainWish[];
  /** Rules of the edge, in the order in which they apply. */
  rules: RuleView[];
  /** The service's environment groups in ascending precedence: variables of the last group override the others. */
  groups: string[];
}

export interface GroupWish {
  name: string;
  path: string;
  variables: VariableWish[];
}

/** The desired state of an environment, parsed from a document. */
export interface StackWish {
  /** True if the services go live together. */
  together: boolean;
  services: ServiceWish[];
  groups: GroupWish[];
}
