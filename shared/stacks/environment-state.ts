import type { ServiceConfiguration } from '../services/configuration.js';
import type { LifecycleStatus, ServiceKind } from '../services/model.js';
import type { VariableScope } from '../variables/model.js';
import type { VolumeWish } from './wish.js';

/** The stack that a service or a group belongs to, and its name in that stack's document. */
export interface Owner {
  stackId: string;
  stack: string;
  /** Null if the document does not name it any more. */
  as: string | null;
}

/** A variable that exists, with its value opened. */
export interface VariableState {
  key: string;
  scope: VariableScope;
  /** Null for a reference, and for a value that cannot be opened. */
  value: string | null;
  reference: { serviceId: string; key: string } | null;
}

export interface ServiceState {
  id: string;
  name: string;
  kind: ServiceKind;
  archived: boolean;
  lifecycle: LifecycleStatus;
  /** True if a release is live. */
  live: boolean;
  /** True if the last apply of its stack should have deployed it, and failed or was cancelled before it was live. */
  unreleased: boolean;
  /** As it is stored: secret parts of the repository's address are masked. */
  configuration: ServiceConfiguration;
  /** The whole address of the repository. */
  repository: string;
  /** True if a database has data. Then its version, its name and its user cannot change. */
  hasData: boolean;
  variables: VariableState[];
  volumes: VolumeWish[];
  domains: string[];
  /** In the order of their precedence; the last one takes precedence. */
  groupIds: string[];
  owner: Owner | null;
}

export interface GroupState {
  id: string;
  name: string;
  /** True if only services of this environment may have it. Others are shared by the whole workspace. */
  ofEnvironment: boolean;
  variables: VariableState[];
  owner: Owner | null;
}

/** An environment as it is. Previews and services that are being deleted do not belong to it. */
export interface EnvironmentState {
  /** The region of services that name none. */
  defaultRegion: ServiceConfiguration['region'];
  services: ServiceState[];
  /** Groups of the environment and of the whole workspace. */
  groups: GroupState[];
  /** Host names that services of the workspace have, with the service's id. */
  domains: Record<string, { serviceId: string; service: string }>;
}
