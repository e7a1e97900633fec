import { workersOnline } from '../../../shared/workers/store.js';
import { defineRoute } from '../../http/route.js';
import { presentCatalog } from './present.js';
import { CatalogSchema } from './schema.js';

export const catalogRoutes = [
  defineRoute({
    method: 'GET',
    path: '/catalog',
    operation: 'catalog.read',
    summary: 'Read the service types, plans, regions and runtimes',
    response: CatalogSchema,
    handler: async ({ deps, db }) => presentCatalog(deps.config, await workersOnline(db)),
  }),
];
