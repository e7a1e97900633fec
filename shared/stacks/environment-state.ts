import type { RuleView } from '../rules/model.js';
import type { ServiceConfiguration } from '../services/configuration.js';
import type { LifecycleStatus, ServiceKind } from '../services/model.js';
import type { VariableScope } from '../variables/model.js';
import type { DomainWish, VolumeWish } from './wish.js';

/** The stack that owns a service or group, and the resource's name in the stack's document. */
export interface Owner {
  stackId: string;
  stack: string;
  /** Null if the document no longer contains the resource. */
  as: string | null;
}

/** An existing variable, with its value unsealed. */
export interface VariableState {
  key: string;
  scope: VariableScope;
  /** Null for a reference, and for a value that cannot be unsealed. */
  value: string | null;
  reference: { serviceId: string; key: string } | null;
}

export interface ServiceState {
  id: string;
  name: string;
  kind: ServiceKind;
  archived: boolean;
  lifecycle: LifecycleStatus;
  /** True if the service has a live release. */
  live: boolean;
  /** True if the stack's last apply should have deployed the service but failed or was cancelled first. */
  unreleased: boolean;
  /** As stored: secret parts of the repository address are masked. */
  configuration: ServiceConfiguration;
  /** The repository address, including secret parts. */
  repository: string;
  /** True if a database has data. Its version, name and user then cannot change. */
  hasData: boolean;
  variables: VariableState[];
  volumes: VolumeWish[];
  domains: DomainWish[];
  rules: RuleView[];
  /** The service's environment groups in ascending precedence: variables of the last group override the others. */
  groupIds: string[];
  owner: Owner | null;
}

export interface GroupState {
  id: string;
  name: string;
  /** True if only services of this environment can use the group; false if the whole workspace shares it. */
  ofEnvironment: boolean;
  variables: VariableState[];
  owner: Owner | null;
}

/** The current state of an environment, without previews and services that are being deleted. */
export interface EnvironmentState {
  /** Region of services for which the document sets none. */
  defaultRegion: ServiceConfiguration['region'];
  services: ServiceState[];
  /** Groups of this environment, and those shared by the whole workspace. */
  groups: GroupState[];
  /** Host names that services of the workspace have, with the service's id and the target of a redirect. */
  domains: Record<string, { serviceId: string; service: string; redirectTo: string | null }>;
}
