import { isIP } from 'node:net';
import { hostname } from 'node:os';
import type { Config } from '../../shared/core/config.js';
import { AppError } from '../../shared/core/error-registry.js';
import type { ApiMiddleware } from './request-state.js';

const HOST = /^(?:\[([0-9A-Fa-f:.]+)\]|([^:[\]]+))(?::\d{1,5})?$/;

/**
 * Refuses requests whose Host header is not a name of the API. This prevents DNS rebinding: a page of another site
 * could point its own name at this host. IP addresses and requests with an API key are safe from that.
 */
export function checkHost({ publicUrl, apiHosts }: Pick<Config, 'publicUrl' | 'apiHosts'>): ApiMiddleware {
  const names = new Set(['localhost', hostname().toLowerCase(), new URL(publicUrl).hostname, ...apiHosts]);
  return (ctx, next) => {
    const host = ctx.req.headers.host ?? '';
    const [, address = '', name = ''] = HOST.exec(host) ?? [];
    if (isIP(address) === 6 || isIP(name) === 4 || names.has(name.toLowerCase())) return next();
    if (/^bearer /i.test(ctx.get('Authorization'))) return next();
    throw new AppError(
      'invalid_request',
      'The API does not answer under this host name; set PUBLIC_URL, or add the name to API_HOSTS',
      [{ path: 'header.Host', message: 'is no name of the API' }],
    );
  };
}
