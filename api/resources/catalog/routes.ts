import { workersOnline } from '../../../shared/workers/store.js';
import { defineRoute } from '../../http/route.js';
import { presentCatalog } from './present.js';
import { CatalogSchema } from './schema.js';

export const catalogRoutes = [
  defineRoute({
    method: 'GET',
    path: '/catalog',
    operation: 'catalog.read',
    summary: 'Read the catalog',
    description:
      'Service types, plans, regions and runtimes, the defaults of a new service, and what this installation is capable of.',
    response: CatalogSchema,
    handler: async ({ deps, db }) => presentCatalog(deps.config, await workersOnline(db)),
  }),
];
