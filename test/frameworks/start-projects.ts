import { type FrameworkProject, PORT, server } from './project.js';

/** Servers without a framework, and the ways in which people start them. */
export const START_PROJECTS: readonly FrameworkProject[] = [
  {
    name: 'nodemon as start',
    files: { ...server(PORT, { scripts: { start: 'nodemon server.js' }, devDependencies: { nodemon: '3' } }) },
    page: /own page/,
  },
  {
    name: 'Lock file out of date',
    manager: 'none',
    files: {
      ...server(PORT, { scripts: { start: 'node server.js' }, dependencies: { 'is-number': '7.0.0' } }),
      'package-lock.json':
        '{ "name": "app", "lockfileVersion": 3, "requires": true, "packages": { "": { "name": "app" } } }',
    },
    page: /own page/,
  },
  {
    name: 'A file of variables that nobody commits',
    files: server(PORT, { scripts: { start: 'node --env-file=.env server.js' } }),
    page: /own page/,
  },
  { name: 'Ignores PORT: 3000', files: server('3000'), page: /own page/ },
  { name: 'Ignores PORT: 8080', files: server('8080'), page: /own page/ },
  { name: 'Ignores PORT: 5000', files: server('5000'), page: /own page/ },
  { name: 'Listens on loopback', files: server(`${PORT}, '127.0.0.1'`), page: /own page/ },
];
