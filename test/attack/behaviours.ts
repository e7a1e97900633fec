import { APPLICATIONS } from './hostile-applications.js';
import { BUILDS } from './hostile-builds.js';
import { CLIENTS } from './hostile-clients.js';
import type { Behaviour } from './hostile-tenant.js';

/** Everything that hostile tenants do in a run: add an entry to one of the three tables. */
export const BEHAVIOURS: readonly Behaviour[] = [...BUILDS, ...APPLICATIONS, ...CLIENTS];
