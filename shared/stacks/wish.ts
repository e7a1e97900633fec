import type { PartialServiceConfiguration } from '../services/configuration.js';
import type { ServiceKind } from '../services/model.js';
import type { VariableScope } from '../variables/model.js';

/** A reference by the provider's name in the environment, or by its id. */
export type ReferenceWish = { service: string; key: string } | { serviceId: string; key: string };

/** What a variable is made of. A generated or secret one keeps the value that it has. */
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

/** A service or database, as a document asks for it. */
export interface ServiceWish {
  name: string;
  /** Its JSON pointer in the document. */
  path: string;
  kind: ServiceKind;
  section: 'services' | 'databases';
  archived: boolean;
  /** The fields that are given. The others have their defaults. */
  configuration: PartialServiceConfiguration;
  variables: VariableWish[];
  volumes: VolumeWish[];
  domains: string[];
  /** The last one takes precedence. */
  groups: string[];
}

export interface GroupWish {
  name: string;
  path: string;
  variables: VariableWish[];
}

/** What an environment shall be: a document that was read. */
export interface StackWish {
  /** True if the services go live together. */
  together: boolean;
  services: ServiceWish[];
  groups: GroupWish[];
}
