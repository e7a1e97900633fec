import { workersOnline } from '../../../shared/db/workers.js';
import { defineRead } from '../../route.js';
import { presentCatalog } from './present.js';
import { CatalogSchema } from './schema.js';

export const catalogRoutes = [
  defineRead({
    path: '/catalog',
    operation: 'catalog.read',
    summary: 'Read the service types, plans, regions and runtimes',
    response: CatalogSchema,
    handler: async ({ deps, db }) => presentCatalog(deps.config, await workersOnline(db)),
  }),
];
