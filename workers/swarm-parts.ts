/** Large modules that are loaded only with RUNTIME=swarm. */
export { assertBuildkit } from './builders/engine-images/buildkit-check.js';
export { findRailpack } from './builders/engine-images/railpack.js';
export { connectEngine } from './docker/docker-engine.js';
export { createSwarmDataBuilder } from './runtime/swarm/server-images.js';
export { createSwarmRuntime } from './runtime/swarm/swarm-runtime.js';
