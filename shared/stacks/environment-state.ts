import type { RuleView } from '../rules/model.js';
import type { ServiceConfiguration } from '../services/configuration.js';
import type { LifecycleStatus, ServiceKind } from '../services/model.js';
import type { VariableScope } from '../variables/model.js';
import type { DomainWish, VolumeWish } from './wish.js';

export interface Owner {
  stackId: string;
  stack: string;
  /** The resource's name in the stack's document; null if the document no longer contains it. */
  as: string | null;
}

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
  live: boolean;
  /** True if the stack's last apply failed or was cancelled before it deployed the service. */
  unreleased: boolean;
  /** Secret parts of the repository address are masked. */
  configuration: ServiceConfiguration;
  repository: string;
  /** If a database has data, its version, name and user cannot change. */
  hasData: boolean;
  variables: VariableState[];
  volumes: VolumeWish[];
  domains: DomainWish[];
  rules: RuleView[];
  /** In ascending precedence: variables of the last group override the others. */
  groupIds: string[];
  owner: Owner | null;
}

export interface GroupState {
  id: string;
  name: string;
  /** False if the whole workspace shares the group. */
  ofEnvironment: boolean;
  variables: VariableState[];
  owner: Owner | null;
}

/** Excludes previews and services that are being deleted. */
export interface EnvironmentState {
  /** The region of services for which the document sets none. */
  defaultRegion: ServiceConfiguration['region'];
  services: ServiceState[];
  /** The groups of this environment, and those shared by the whole workspace. */
  groups: GroupState[];
  domains: Record<string, { serviceId: string; service: string; redirectTo: string | null }>;
}
