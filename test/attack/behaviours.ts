import { APPLICATIONS } from './hostile-applications.js';
import { BUILDS } from './hostile-builds.js';
import { CLIENTS } from './hostile-clients.js';
import type { Behaviour } from './hostile-tenant.js';

export const BEHAVIOURS: readonly Behaviour[] = [...BUILDS, ...APPLICATIONS, ...CLIENTS];
