import type { Service, ServiceConfiguration } from '../api/types.js';

export function sourceText({ kind, configuration }: Pick<Service, 'kind' | 'configuration'>): string {
  if (kind === 'postgres') return `PostgreSQL ${configuration.databaseVersion}`;
  if (kind === 'redis') return 'Redis';
  if (configuration.sourceType === 'image' || configuration.buildMethod === 'image')
    return configuration.image || 'no image yet';
  if (configuration.sourceType === 'push') return `git push · ${configuration.branch}`;
  if (configuration.repository === '') return 'no repository yet';
  return `${repositoryName(configuration)} · ${configuration.branch}`;
}

/** Returns "owner/name" from a URL, or the last two folders of a path. */
export function repositoryName({ repository }: Pick<ServiceConfiguration, 'repository'>): string {
  const path = repository
    .replace(/^[a-z+]+:\/\/[^/]*\//i, '')
    .replace(/^[^/]*@[^:]*:/, '')
    .replace(/(\.git)?\/*$/, '');
  return path.split('/').filter(Boolean).slice(-2).join('/') || repository;
}

export function isDatabase(kind: Service['kind']): boolean {
  return kind === 'postgres' || kind === 'redis';
}

export const KIND_TEXT: Readonly<Record<Service['kind'], string>> = {
  web: 'Web service',
  static: 'Static site',
  private: 'Private service',
  worker: 'Background worker',
  cron: 'Cron job',
  postgres: 'PostgreSQL',
  redis: 'Redis',
};
