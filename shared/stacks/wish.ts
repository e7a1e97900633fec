import type { RuleView } from '../rules/model.js';
import type { PartialServiceConfiguration } from '../services/configuration.js';
import type { ServiceKind } from '../services/model.js';
import type { VariableScope } from '../variables/model.js';

export type ReferenceWish = { service: string; key: string } | { serviceId: string; key: string };

/** A generated variable keeps an existing value. A secret variable keeps it unless the apply provides a new value. */
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
  /** The host name to which all requests are redirected. */
  redirectTo: string | null;
}

export interface ServiceWish {
  name: string;
  /** JSON pointer into the document. */
  path: string;
  kind: ServiceKind;
  section: 'services' | 'databases';
  archived: boolean;
  /** The fields that the document sets. The others have their defaults. */
  configuration: PartialServiceConfiguration;
  variables: VariableWish[];
  volumes: VolumeWish[];
  domains: DomainWish[];
  rules: RuleView[];
  /** In ascending precedence: variables of the last group override the others. */
  groups: string[];
}

export interface GroupWish {
  name: string;
  path: string;
  variables: VariableWish[];
}

/** The desired state of an environment. */
export interface StackWish {
  together: boolean;
  services: ServiceWish[];
  groups: GroupWish[];
}
