import type { components, paths } from './schema.js';

/** Types of the OpenAPI document, which `npm run types` generates. */
export type Schemas = components['schemas'];

export type Service = Schemas['Service'];
export type ServiceConfiguration = Schemas['ServiceConfiguration'];
export type Deployment = Schemas['Deployment'];
export type Variable = Schemas['Variable'];
export type LogLine = Schemas['LogLine'];
export type Run = Schemas['Run'];
export type Workspace = Schemas['Workspace'];
export type Canvas = Schemas['Canvas'];
export type Detection = Schemas['Detection'];
export type Role = Workspace['role'];

/** Paths without the version, which `addressOf` adds. */
type Paths = {
  [P in keyof paths as P extends `/v1${infer Unversioned}` ? Unversioned : P]: paths[P];
};

export type PathsWith<Method extends string> = {
  [P in keyof Paths]: Paths[P] extends Record<Method, unknown> ? P : never;
}[keyof Paths];

export type OperationOf<P extends keyof Paths, Method> = Method extends keyof Paths[P] ? Paths[P][Method] : never;

export type Answer<O> = O extends { responses: infer R }
  ? R extends { 200: { content: { 'application/json': infer T } } }
    ? T
    : R extends { 201: { content: { 'application/json': infer T } } }
      ? T
      : never
  : never;

export type PathOf<O> = O extends { parameters: { path: infer T } } ? T : undefined;
export type QueryOf<O> = O extends { parameters: { query?: infer T } } ? T : undefined;
export type BodyOf<O> = O extends { requestBody?: { content: { 'application/json': infer T } } } ? T : undefined;
