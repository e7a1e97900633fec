import { describeApi, type Json } from './openapi.js';
import { SESSION_ROUTES } from './resources/session/routes.js';
import { API_ROOT, ROUTES, SESSION_ROOT } from './routes.js';

const CREDENTIALS = { anyone: 'none', 'signing-in': 'none', session: 'session' } as const;

/** The OpenAPI document of everything that this version answers to callers. */
export function apiDocument(): Json {
  return describeApi([
    { root: API_ROOT, endpoints: ROUTES.map((route) => ({ ...route, credential: 'any' })) },
    {
      root: SESSION_ROOT,
      endpoints: SESSION_ROUTES.map((route) => ({ ...route, credential: CREDENTIALS[route.access] })),
    },
  ]);
}
